"""What crosses the border of a program <-> mncore operations in a module: tensors of the host, buffers whose content
outlives a run, and how often it is repeated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mnc.core.bindings import func, ir
from mnc.core.modules import functions_of
from mnc.dialects.mncore.attributes import placement_of
from mnc.dialects.mncore.movement import ENCODING, HALF_BLOCKS
from mnc.dialects.mncore.trips import SLICE, TRIPS, keep_trips, read_slice, slice_attribute
from mnc.mncore_backend.codegen.program_ir import create, integer_of, read_buffer, string_of
from mnc.mncore_backend.codegen.trips import Each, Slice, Trips, Window
from mnc.mncore_backend.kernels.matmul.packing import packed_words
from mnc.mncore_backend.layout import row_longs
from mnc.mncore_backend.movement import DramImage
from mnc.mncore_backend.program import Buffer


class _HostTensor(Protocol):
    name: str
    role: Any
    dtype: str
    image: DramImage
    value: np.ndarray | None
    part: Slice | None
    encoding: str


def _write_image(tensor: _HostTensor) -> None:
    image = tensor.image
    value = None if tensor.value is None else np.ascontiguousarray(tensor.value)
    create(
        "mncore.image",
        sym_name=tensor.name,
        role=tensor.role,
        buffer=image.buffer.name,
        dtype=tensor.dtype,
        shape=ir.DenseI64ArrayAttr.get(list(image.shape)),
        groups=ir.DenseI64ArrayAttr.get(list(image.groups)),
        padding=image.padding,
        segments=ir.DenseI64ArrayAttr.get([number for segment in image.segments for number in segment]),
        index=ir.DenseElementsAttr.get(np.ascontiguousarray(image.index, dtype=np.int32)),
        value=None if value is None else ir.DenseElementsAttr.get(value),  # equal to the model's: shares its storage
        **{ENCODING: tensor.encoding} if tensor.encoding else {},
        **{} if tensor.part is None else {SLICE: slice_attribute(tensor.part)},
    )


def replace_body(function: Any, selection: Any) -> None:
    """Put images of a selection, and what it keeps, in the place of a function's body. The tensors are used up: each
    image is let go of as soon as the module has it, since there may be gigabytes of them."""
    name = function.attributes["sym_name"]
    with function.location, ir.InsertionPoint(function):
        new = func.FuncOp(ir.StringAttr(name).value, ir.FunctionType.get([], []))
        block = new.add_entry_block()
        keep_trips(function, new)
    with ir.InsertionPoint(block):
        selection.tensors.reverse()
        while selection.tensors:
            _write_image(selection.tensors.pop())
        for buffer, attributes in selection.kept:
            create("mncore.kept", buffer=buffer.name, **attributes)
        func.ReturnOp([])
    function.erase()


@dataclass(eq=False)
class Image:
    """A ``mncore.image`` read back."""

    name: str
    role: str
    dtype: str
    image: DramImage
    value: np.ndarray | None
    part: Slice | None = None
    encoding: str = ""

    def words(self, value: np.ndarray | None) -> np.ndarray | None:
        """What the host puts into DRAM of a value of this tensor."""
        return packed_words(value) if value is not None and self.encoding == HALF_BLOCKS else value


@dataclass
class Kept:
    """A ``mncore.kept`` read back: the buffer, the memref type it had, and the attributes it was given."""

    buffer: Buffer
    type: Any
    attributes: dict[str, Any]


def read_kept(module: Any, buffers: Mapping[str, Buffer] | None = None) -> list[Kept]:
    """Buffers whose content outlives a run of the program, in the order of the program. `buffers`: those of the program
    by name, if they are not in the module any more."""
    blocks = [block for f in module.body.operations for region in f.operation.regions for block in region.blocks]
    operations = [op.operation for block in blocks for op in block.operations]
    kept = [operation for operation in operations if operation.name == "mncore.kept"]
    if not kept:
        return []
    if buffers is None:
        made = (read_buffer(operation) for operation in operations if operation.name == "mncore.buffer")
        buffers = {buffer.name: buffer for buffer in made}
    return [
        Kept(
            buffers[string_of(operation, "buffer")],
            ir.TypeAttr(operation.attributes["type"]).value,
            {n: operation.attributes[n] for n in operation.attributes if n not in ("buffer", "type")},
        )
        for operation in kept
    ]


def _pairs(attribute: Any) -> tuple[tuple[int, int], ...]:
    numbers = list(ir.DenseI64ArrayAttr(attribute))
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def read_images(module: Any, buffers: dict[str, Buffer]) -> list[Image]:
    """Tensors that the host writes and reads, with the allocated DRAM buffers."""
    result = []
    indices: dict[Any, np.ndarray] = {}  # tensors of one arrangement share it
    for function in functions_of(module):
        for op in function.operation.regions[0].blocks[0].operations:
            operation = op.operation
            if operation.name != "mncore.image":
                continue
            attributes = operation.attributes
            if attributes["index"] not in indices:
                indices[attributes["index"]] = np.asarray(attributes["index"])
            image = DramImage(
                buffers[string_of(operation, "buffer")],
                tuple(ir.DenseI64ArrayAttr(attributes["shape"])),
                indices[attributes["index"]],
                tuple(ir.DenseI64ArrayAttr(attributes["groups"])),
                integer_of(operation, "padding"),
                _pairs(attributes["segments"]),
            )
            value = np.asarray(attributes["value"]) if "value" in attributes else None
            name, role, dtype = (string_of(operation, key) for key in ("sym_name", "role", "dtype"))
            encoding = string_of(operation, ENCODING) if ENCODING in attributes else ""
            result.append(Image(name, role, dtype, image, value, read_slice(attributes), encoding))
    return result


def read_trips(
    module: Any, buffers: dict[str, Buffer], images: Sequence[Image], each: Sequence[Image] = ()
) -> Trips | None:
    """The trips of a program that is repeated; None if it is not. `each`: images of which every trip has its own."""
    count = read_attribute(module, TRIPS)
    if count is None:
        return None
    parts = [(image.image, Each() if image in each else image.part) for image in images]
    windows = [window for kept in read_kept(module, buffers) if (window := window_of(kept)) is not None]
    return Trips(ir.IntegerAttr(count).value, list(buffers.values()), parts, windows)


def window_of(kept: Kept) -> Window | None:
    """The rows that trips have of a tensor in local memory; None where all have the same of it."""
    part = read_slice(kept.attributes)
    if part is None:
        return None
    row = placement_of(kept.type).layout
    dim = part.row_dim(row.shape)
    return Window(kept.buffer, row_longs(row), tuple(start[dim] for start in part.starts))


def read_attribute(module: Any, name: str) -> Any | None:
    """An attribute of the function of a module; None if it has none."""
    found = [f.operation.attributes[name] for f in module.body.operations if name in f.operation.attributes]
    return found[0] if found else None
