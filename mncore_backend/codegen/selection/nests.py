"""Affine loop nests over local buffers -> vector kernels."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.diagnostics import InternalError
from mnc.lowering.linalg_to_spmd.reading import DIFFERENCES
from mnc.lowering.linalg_to_spmd.rearranging import evaluate
from mnc.lowering.linalg_to_spmd.words import word_bits
from mnc.mncore_backend.kernels.vector import Access, Body, Output, Scalar, VectorKernel
from mnc.mncore_backend.kernels.vector.reduce import REDUCTIONS
from mnc.mncore_backend.program import Buffer

_SCALAR_NAMES: dict[str, str] = {
    "arith.maxnumf": "maximumf", "arith.minnumf": "minimumf",
}  # fmt: skip
"""Scalar operations whose vector operation is not called like them."""
_FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
_INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def scalar_type(type_: Any) -> str:
    """Type name of the vector kernels for a scalar type of the IR."""
    if isinstance(type_, ir.IntegerType):
        return "i1" if type_.width == 1 else "i32"
    return "f32"


@dataclass
class _Nest:
    """What a nest contains: its loops, outermost first, and the operations of its innermost body."""

    loops: list[Any] = field(default_factory=list)
    operations: list[Any] = field(default_factory=list)


def _size(loop: Any) -> int:
    bounds = [ir.AffineMapAttr(loop.attributes[name]).value.results[0] for name in ("lowerBoundMap", "upperBoundMap")]
    lower, upper = (ir.AffineConstantExpr(bound).value for bound in bounds)
    if lower != 0 or ir.IntegerAttr(loop.attributes["step"]).value != 1:
        raise error_at(loop, f"counts from {lower}, or not by ones", "run normalize-loops first")
    return upper


def _collect(loop: Any, nest: _Nest) -> None:
    nest.loops.append(loop)
    for op in loop.regions[0].blocks[0].operations:
        operation = op.operation
        if operation.name == "affine.for":
            _collect(operation, nest)
        elif operation.name != "affine.yield":
            nest.operations.append(operation)


class NestReader:
    """Turns one `affine.for` nest into a `VectorKernel`; `buffers` maps memref values to buffers."""

    def __init__(self, root: Any, buffers: dict[Any, Buffer]) -> None:
        self.buffers = buffers
        self.nest = _Nest()
        _collect(root, self.nest)
        self.words, self.rest = self._split_loops()
        sizes = [_size(loop) for loop in self.rest]
        points = np.indices(sizes, dtype=np.int64).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), np.int64)
        self.count = points.shape[1]
        self.points = {loop.regions[0].blocks[0].arguments[0]: p for loop, p in zip(self.rest, points, strict=True)}
        self.body = Body()
        self.values: dict[Any, Scalar] = {}
        self.reads: list[Access] = []

    def _split_loops(self) -> tuple[Any, list[Any]]:
        """The loop over the two words of a long word, and all others."""
        words = {
            list(op.operands)[-1]
            for op in self.nest.operations
            if op.name in ("affine.load", "affine.store")
        }
        if len(words) != 1:
            raise InternalError("a loop nest must access all its buffers through one loop over the words")
        variable = words.pop()
        word_loops = [loop for loop in self.nest.loops if loop.regions[0].blocks[0].arguments[0] == variable]
        return word_loops[0], [loop for loop in self.nest.loops if loop is not word_loops[0]]

    def _access(self, memory: Any, indices: Sequence[Any], map_: Any) -> Access:
        grid: dict[int, NDArray[np.int64]] = {
            i: self.points.get(index, np.zeros(self.count, np.int64)) for i, index in enumerate(indices)
        }
        offsets = np.broadcast_to(evaluate(map_.results[0], grid), (self.count,))
        return Access(self.buffers[memory], offsets)

    def read(self) -> VectorKernel:
        """The kernel; raises InternalError for what is not a nest this level produces."""
        stores = []
        for op in self.nest.operations:
            if op.name == "affine.store":
                stores.append(op)
            elif op.name == "affine.load":
                map_ = ir.AffineMapAttr(op.attributes["map"]).value
                self.reads.append(self._access(op.operands[0], list(op.operands)[1:], map_))
                self.values[op.results[0]] = self.body.input(scalar_type(op.results[0].type))
            elif not self._combines(op):
                self.values[op.results[0]] = self._scalar(op)
        outputs = tuple(self._output(store) for store in stores)
        return VectorKernel(self.count, tuple(self.reads), self.body, outputs)

    def _carried(self) -> dict[Any, Any]:
        """Loop-carried block arguments -> the constant they start from."""
        result = {}
        for loop in self.nest.loops:
            block = loop.regions[0].blocks[0]
            for argument, start in zip(list(block.arguments)[1:], list(loop.operands), strict=True):
                result[argument] = start
        return result

    def _combines(self, op: Any) -> bool:
        """Whether an operation combines a value into a loop-carried one."""
        carried = self._carried()
        return any(operand in carried for operand in op.operands)

    def _output(self, store: Any) -> Output:
        map_ = ir.AffineMapAttr(store.attributes["map"]).value
        access = self._access(store.operands[1], list(store.operands)[2:], map_)
        value = store.operands[0]
        owner = value.owner
        is_constant = not isinstance(owner, ir.Block) and owner.name == "arith.constant"
        if value in self.values or is_constant:  # constants may have moved out of the loops
            return Output(access, self._operand(value))
        if isinstance(owner, ir.Block) or owner.name != "affine.for":
            raise InternalError(f"cannot store {value}")
        carried = self._carried()
        combine = next(op for op in self.nest.operations if any(operand in carried for operand in op.operands))
        new = self._operand(next(operand for operand in combine.operands if operand not in carried))
        if combine.name in DIFFERENCES and combine.operands[0] in carried:
            return Output(access, self._negated(new), DIFFERENCES[combine.name], self._initial(carried))
        name = _SCALAR_NAMES.get(combine.name, str(combine.name).partition(".")[2])
        if name not in REDUCTIONS:
            raise InternalError(f"{combine.name} of what a loop carries is no reduction")
        return Output(access, new, name, self._initial(carried))

    def _negated(self, value: Scalar) -> Scalar:
        if value.type == "f32":
            return self.body.op("negf", value)
        return self.body.op("subi", self.body.constant(0, value.type), value)

    def _initial(self, carried: dict[Any, Any]) -> float | int:
        for start in carried.values():
            if not isinstance(start.owner, ir.Block) and start.owner.name == "arith.constant":
                return start.owner.attributes["value"].value
        raise InternalError("a reduction must start from a constant")

    def _operand(self, value: Any) -> Scalar:
        if value not in self.values:
            owner = value.owner
            if isinstance(owner, ir.Block) or owner.name != "arith.constant":
                raise InternalError(f"a loop body uses {value}")
            self.values[value] = self._constant(owner)
        return self.values[value]

    def _constant(self, op: Any) -> Scalar:
        attribute = op.attributes["value"]
        kind = scalar_type(op.results[0].type)
        value = attribute.value if kind == "f32" else word_bits(attribute)
        if kind == "i1":  # true reads as -1, a word holds 1
            value &= 1
        return self.body.constant(value, kind)

    def _scalar(self, op: Any) -> Scalar:
        if op.name == "arith.constant":
            return self._constant(op)
        operands = [self._operand(operand) for operand in op.operands]
        kind = scalar_type(op.results[0].type)
        if op.name in ("arith.cmpf", "arith.cmpi"):
            names = _FLOAT_PREDICATES if op.name == "arith.cmpf" else _INTEGER_PREDICATES
            predicate = names[ir.IntegerAttr(op.attributes["predicate"]).value]
            return self.body.op(op.name[6:], *operands, predicate=predicate)
        if op.name in ("arith.trunci", "arith.extsi", "arith.extui"):
            return self._integer_width(op.name, operands[0], kind)
        name = _SCALAR_NAMES.get(op.name, str(op.name).partition(".")[2])
        return self.body.op(name, *operands, type=kind if name == "bitcast" else "")

    def _integer_width(self, name: str, value: Scalar, kind: str) -> Scalar:
        """Changes between i1 and i32; other widths do not exist here."""
        if name == "arith.trunci":
            one = self.body.constant(1, "i32")
            masked = self.body.op("andi", value, one)
            return self.body.op("cmpi", masked, self.body.constant(0, "i32"), predicate="ne")
        if name == "arith.extsi":
            return self.body.op("subi", self.body.constant(0, "i32"), self.body.op("extui", value))
        return self.body.op("extui", value)
