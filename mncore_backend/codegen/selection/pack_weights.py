"""The pass `pack-weights`: weights of products of halves lie in DRAM as halves, as matrix banks take them.

before:  %w = mncore.constant f32 ... mncore.dl %w, %a ... mncore.matmul(%x, %a, %y) {precision = "half"}
after:   %w = mncore.constant i32 ... mncore.dl %w, %b ... mncore.matmul(%x, %b, %y) {packed = <place of singles>}

They take half of the transfers and of local memory, a bank is filled in half of the steps, and nothing is left to
convert. The host rounds every number once, the machine would round it twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mnc.core.bindings import ir, memref
from mnc.core.modules import functions_of
from mnc.core.pass_base import Pass
from mnc.dialects.graph.attributes import to_numpy
from mnc.dialects.mncore import Constant, Dl
from mnc.dialects.mncore.attributes import memory_attribute, placed_attribute, placement_of
from mnc.dialects.mncore.movement import ENCODING, HALF_BLOCKS
from mnc.mncore_backend.codegen.selection.matmul import matmul_specs, with_packed
from mnc.mncore_backend.kernels.matmul import MatmulSpec
from mnc.mncore_backend.kernels.matmul.chunks import product_steps
from mnc.mncore_backend.kernels.matmul.packing import packed_longs, sources
from mnc.mncore_backend.layout import Axis, Digit, Layout, place
from mnc.mncore_backend.placement.candidates.space import LANES
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer


@dataclass(frozen=True)
class PackWeights(Pass):
    """Load constant matrices of products of halves as halves, two to a word.

    A matrix that is also read by something else stays single, and so does one whose products are no faster with halves.
    """

    name: ClassVar[str] = "pack-weights"

    def run(self, module: ir.Module) -> None:
        """Replace loads of weights, and note on their products how singles would be placed."""
        with module.context:
            for view in functions_of(module):
                for load, products in list(_candidates(view.operation)):
                    _pack(load, products)


def _candidates(function: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Loads of constants that only products of halves read, as their matrix, and these products."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    for op in operations:
        if op.name != "mncore.dl" or getattr(op.operands[0].owner, "name", "") != "mncore.constant":
            continue
        if isinstance(op.operands[0].type.element_type, ir.IntegerType):
            continue
        readers = [use.owner.operation for use in op.operands[1].uses if use.owner.operation != op]
        if readers and all(_takes_matrix(reader, op.operands[1]) for reader in readers):
            yield op, [reader for reader in operations if reader in readers]


def _takes_matrix(op: Any, value: Any) -> bool:
    if op.name != "mncore.matmul" or ir.StringAttr(op.attributes["precision"]).value != "half":
        return False
    return [number for number, operand in enumerate(op.operands) if operand == value] == [1]


def _pack(load: Any, products: Sequence[Any]) -> None:
    """Replace a load and the matrix of its products, if that pays and all of them read the same in the same order."""
    layout = placement_of(load.operands[1].type).layout
    specs = [_specs(op) for op in products]
    if any(not _alike(specs[0], other) for other in specs[1:]) or not _pays(specs[0], layout):
        return
    packed = _packed_layout(layout, sum(map(packed_longs, specs[0])))
    with load.location, ir.InsertionPoint(load):
        made = _load(_blocks(load, specs[0], layout), packed, load.operands[0].owner)
    single = placed_attribute("LM", layout)
    for op in products:
        op.operands[1] = made
        op.attributes["packed"] = single
    _erase(load)


def _specs(op: Any) -> list[MatmulSpec]:
    buffers = [Buffer("", 0, LOCAL_MEMORY) for _ in range(3)]
    specs = matmul_specs(op, [placement_of(value.type).layout for value in list(op.operands)[:3]], buffers, "half")
    return [replace(spec, precision="half") for spec in specs]


def _alike(some: Sequence[MatmulSpec], others: Sequence[MatmulSpec]) -> bool:
    """Whether products read the same words of a matrix in the same order."""
    pairs = zip(some, others, strict=False)
    return len(some) == len(others) and all(np.array_equal(a.w_offset, b.w_offset) for a, b in pairs)


def _pays(specs: Sequence[MatmulSpec], layout: Layout) -> bool:
    """Whether packed matrices take less memory than singles, and no more time than pseudo-single products."""
    if sum(map(packed_longs, specs)) >= layout.local_size:
        return False
    packed = sum(map(product_steps, with_packed(specs, specs[0].w)))
    return packed <= sum(product_steps(replace(spec, precision="pseudo-single")) for spec in specs)


def _hardware(layout: Layout) -> list[Digit]:
    """Digits that say in which MAB an element is."""
    return [d for own in layout.dims for d in own if d.size > 1 and d.axis in (Axis.L2B, Axis.L1B, Axis.MAB)]


def _packed_layout(layout: Layout, longs: int) -> Layout:
    """Where packed matrices lie: in the MABs in which the singles would lie, each PE with so many long words."""
    digits = _hardware(layout)
    inner = (Digit(longs), *LANES) if longs > 1 else LANES
    return Layout((*(d.size for d in digits), longs * prod(d.size for d in LANES)), (*((d,) for d in digits), inner))


def _blocks(load: Any, specs: Sequence[MatmulSpec], layout: Layout) -> NDArray[np.float32]:
    """What becomes the packed matrices of all MABs that differ, still single: [MABs, long words, PE, half]."""
    value = to_numpy(load.operands[0].owner.attributes["value"]).astype(np.float32, copy=False).reshape(-1)
    if "index_map" in load.attributes:
        padding = np.int32(ir.IntegerAttr(load.attributes["padding"]).value).view(np.float32)
        value = np.append(value, padding)[to_numpy(load.attributes["index_map"])]
    held = place(layout)[_mabs(layout)]  # [MABs, PE, words]
    wanted = np.concatenate([sources(spec) for spec in specs])
    elements = np.append(held, np.full((*held.shape[:2], 1), -1, held.dtype), axis=2)[:, :, wanted]
    return np.append(value, np.float32(0))[elements.transpose(0, 2, 1, 3)]


def _mabs(layout: Layout) -> tuple[NDArray[np.int64], ...]:
    """Coordinates [L2B, L1B, MAB] of the MABs that hold different parts, in the order of the digits."""
    digits = _hardware(layout)
    grid = np.indices([d.size for d in digits]).reshape(len(digits), -1) if digits else np.zeros((0, 1), np.int64)
    axes = (Axis.L2B, Axis.L1B, Axis.MAB)
    zeros = np.zeros(grid.shape[1], np.int64)
    return tuple(
        sum((row * d.stride for row, d in zip(grid, digits, strict=True) if d.axis is axis), zeros) for axis in axes
    )


def _load(blocks: NDArray[np.float32], layout: Layout, constant: Any) -> Any:
    """A new constant that the host makes of these blocks, and its load; the buffer."""
    word = ir.IntegerType.get_signless(32)
    memory = ir.MemRefType.get(list(layout.shape), word, memory_space=memory_attribute("DRAM"))
    shape = (*layout.shape[:-1], 2 * layout.shape[-1])
    made = Constant(memory, ir.DenseElementsAttr.get(np.ascontiguousarray(blocks).reshape(shape)))
    made.operation.attributes[ENCODING] = ir.StringAttr.get(HALF_BLOCKS)
    if "onnx.name" in constant.attributes:
        made.operation.attributes["onnx.name"] = constant.attributes["onnx.name"]
    share = ir.MemRefType.get([layout.local_size, 2], word, memory_space=placed_attribute("LM", layout))
    buffer = memref.AllocOp(share, [], []).result
    Dl(made.result, buffer)
    return buffer


def _erase(load: Any) -> None:
    """Remove a load, with its buffer and its constant where nobody else reads them."""
    memory, buffer = load.operands
    load.erase()
    for value in (buffer, memory):
        if not list(value.uses):
            value.owner.erase()
