"""Transfers of whole tensors: between DRAM and PE memory, and between placements on the chip."""

from typing import Any

from mnc.core.bindings import ext, ir
from mnc.dialects.mncore.attributes import check_placed_buffer, memory_of, placement_of
from mnc.dialects.mncore.base import Mncore, verifier
from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.target import chip

ENCODING, HALF_BLOCKS = "encoding", "half-blocks"
"""Attribute of constants: what the host makes of singles before it puts them into DRAM; `kernels/matmul/packing.py`."""
_SUMMED = (Axis.L2B, Axis.L1B, Axis.MAB)


def check_dram(value: Any, shape: tuple[int, ...]) -> None:
    if memory_of(value.type) != "DRAM":
        raise ValueError(f"needs a DRAM buffer, found {value.type}")
    if tuple(value.type.shape) != shape:
        raise ValueError(f"DRAM buffer has shape {list(value.type.shape)}, the layout is of {list(shape)}")


def _check_same_element(a: Any, b: Any) -> None:
    if a.type.element_type != b.type.element_type:
        raise ValueError(f"element types {a.type.element_type} and {b.type.element_type} differ")


def constant_shape(attributes: Any) -> list[int]:
    """What a constant with these attributes takes in DRAM: the shape of its value, or half of that as halves.

    Raises ValueError for an unknown encoding."""
    shape = list(ir.ShapedType(attributes["value"].type).shape)
    if ENCODING in attributes:
        if ir.StringAttr(attributes[ENCODING]).value != HALF_BLOCKS:
            raise ValueError(f'the only encoding is "{HALF_BLOCKS}"')
        shape[-1] //= 2
    return shape


def _check_constant(op: Any) -> None:
    memory = op.operation.results[0]
    check_dram(memory, tuple(memory.type.shape))
    if constant_shape(op.operation.attributes) != list(memory.type.shape):
        raise ValueError(f"value has type {op.operation.attributes['value'].type}, the buffer is {memory.type}")


def _check_load(op: Any) -> None:
    source, target = op.operation.operands
    layout = check_placed_buffer(target).layout
    check_dram(source, tuple(source.type.shape) if "index_map" in op.operation.attributes else layout.shape)
    _check_same_element(source, target)


def _check_resident(op: Any) -> None:
    check_placed_buffer(op.operation.results[0])
    if "onnx.name" not in op.operation.attributes:
        raise ValueError("needs the name of what it holds in onnx.name")


def _check_store(op: Any) -> None:
    source, target = op.operation.operands
    layout = check_placed_buffer(source).layout
    check_dram(target, tuple(target.type.shape) if "index_map" in op.operation.attributes else layout.shape)
    _check_same_element(source, target)
    if "sum" in op.operation.attributes:
        _check_sum(op)


def summed_axes(op: Any) -> dict[Axis, int]:
    """Coordinate bits of the places whose parts a store adds, outermost axis first; empty if it adds nothing."""
    if "sum" not in op.attributes:
        return {}
    axes = [Axis(ir.StringAttr(item).value) for item in ir.ArrayAttr(op.attributes["sum"])]
    return dict(zip(axes, ir.DenseI64ArrayAttr(op.attributes["bits"]), strict=True))


def _check_sum(op: Any) -> None:
    layout = placement_of(op.operation.operands[0].type).layout
    for axis, bits in summed_axes(op.operation).items():
        if axis not in _SUMMED or (axis is not Axis.L1B and bits != chip().axis_size[axis] - 1):
            raise ValueError(f"a store adds over all L2Bs, all MABs or some L1Bs, not {axis.value} bits {bits:#x}")
        if bits & ~layout.replicated_bits(axis):
            raise ValueError(f"adds what differs in bits {bits:#x} of {axis.value}, but {layout} distributes over them")


def _check_spill(op: Any) -> None:
    """Of ``mncore.spill`` (local memory, DRAM) and ``mncore.fetch`` (DRAM, local memory)."""
    source, target = op.operation.operands
    local, memory = (source, target) if op.operation.name == "mncore.spill" else (target, source)
    check_placed_buffer(local)
    check_dram(memory, tuple(local.type.shape))
    _check_same_element(source, target)


def _check_relayout(op: Any) -> None:
    source, target = op.operation.operands
    shapes = [check_placed_buffer(value).layout.shape for value in (source, target)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"moves a tensor of shape {list(shapes[0])} into one of shape {list(shapes[1])}")
    _check_same_element(source, target)


def _check_gather(op: Any) -> None:
    source, target = op.operation.operands
    size = 1
    check_placed_buffer(source)
    for extent in check_placed_buffer(target).layout.shape:
        size *= extent
    index_map = op.operation.attributes["index_map"]
    if not isinstance(index_map, ir.DenseElementsAttr) or len(index_map) != size:
        raise ValueError(f"index_map must give a source element for each of the {size} target elements")
    _check_same_element(source, target)


class Constant(Mncore.Operation, name="constant"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """A tensor that the host puts into DRAM once: weights. ``onnx.name`` names the initializer.

    With ``encoding = "half-blocks"`` the value has singles, and the host makes halves of them, two to a word: 16
    neighbours have one exponent."""

    memory: ext.Result[ir.MemRefType]
    value: Any

    verify_invariants = verifier(_check_constant)


class Dl(Mncore.Operation, name="dl"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Load a tensor from DRAM into its placement in PE memory (the host arranges the DRAM image).

    With ``index_map`` the target holds source[index_map[i]], or ``padding`` (bits of a word) where that is negative.
    """

    source: ext.Operand[ir.MemRefType]
    target: ext.Operand[ir.MemRefType]

    verify_invariants = verifier(_check_load)


class Ul(Mncore.Operation, name="ul"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Unload a placed tensor from PE memory to DRAM.

    With ``sum = ["L2B"], bits = [7]`` every L2B holds a part, and their sum is stored; likewise over L1Bs and MABs.
    With ``index_map`` the source is a part of the target: its elements are target[index_map[i]].
    """

    source: ext.Operand[ir.MemRefType]
    target: ext.Operand[ir.MemRefType]

    verify_invariants = verifier(_check_store)


class Scratch(Mncore.Operation, name="scratch"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """DRAM in which a value waits that left local memory: the shares of all PEs, in whatever order stores like."""

    memory: ext.Result[ir.MemRefType]


class Spill(Mncore.Operation, name="spill"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Store the share of every PE as it is; ``mncore.fetch`` brings it back."""

    source: ext.Operand[ir.MemRefType]
    target: ext.Operand[ir.MemRefType]

    verify_invariants = verifier(_check_spill)


class Fetch(Mncore.Operation, name="fetch"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Bring back what ``mncore.spill`` has stored, to a buffer of the same placement."""

    source: ext.Operand[ir.MemRefType]
    target: ext.Operand[ir.MemRefType]

    verify_invariants = verifier(_check_spill)


class Resident(Mncore.Operation, name="resident"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """A placed buffer that keeps what it holds from one run of the program to the next.

    ``onnx.name`` names the input (or weight, with its ``value``) it holds, ``mnc.updated`` the result that replaces it
    in every run. ``index_map`` and ``padding`` say how its elements are arranged, as in ``mncore.dl``. Programs that
    are run beside another one give its ``memory`` and ``base``.
    """

    buffer: ext.Result[ir.MemRefType]

    verify_invariants = verifier(_check_resident)


class Relayout(Mncore.Operation, name="relayout"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """Copy a tensor from one placement to another, on the chip."""

    source: ext.Operand[ir.MemRefType]
    target: ext.Operand[ir.MemRefType]

    verify_invariants = verifier(_check_relayout)


class Gather(Mncore.Operation, name="gather"):  # pyright: ignore[reportGeneralTypeIssues, reportCallIssue]
    """target[i] = source[index_map[i]] over flat elements; -1 stands for `padding` (bits of a word).

    With ``onto`` the target keeps what it holds where the map is -1; it holds zeros elsewhere. With ``fills_padding``
    the words that pad the placement of the target hold `padding`, too.
    """

    source: ext.Operand[ir.MemRefType]
    target: ext.Operand[ir.MemRefType]
    index_map: Any
    padding: ir.IntegerAttr

    verify_invariants = verifier(_check_gather)
