"""From a function on tensors to the problem of where they live (`mncore_backend/placement/`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.diagnostics import node_name
from mnc.dialects.graph.shapes import text
from mnc.dialects.mncore.attributes import layout_in
from mnc.lowering.linalg_to_spmd.batches import Batches
from mnc.lowering.linalg_to_spmd.computed_reads import CHOSEN
from mnc.lowering.linalg_to_spmd.drop_empty import touches_empty
from mnc.lowering.linalg_to_spmd.factors import contracted_elsewhere, factor_of, iteration_access, operand_shape
from mnc.lowering.linalg_to_spmd.homes import (
    Homes,
    element_wise_results,
    kept_arguments,
    placed_arguments,
    placed_results,
    results_of,
    stored_results,
    untransposed,
)
from mnc.lowering.linalg_to_spmd.joint_parts import comes_alone
from mnc.lowering.linalg_to_spmd.layout_attributes import OPERANDS, RESULT, precision_of
from mnc.lowering.linalg_to_spmd.reading import (
    Generic,
    Input,
    body_work,
    combines_across_pes,
    is_tensor,
    is_transposition,
    read_generic,
    shape_of,
    splat_value,
    transposition_order,
)
from mnc.lowering.linalg_to_spmd.rearranging import (
    REARRANGEMENTS,
    RESHAPES,
    before_reshapes,
    is_part_of_dram,
    is_reversal,
    is_stored_in_parts,
    pieces_of,
)
from mnc.lowering.linalg_to_spmd.streaming import may_come_in_parts
from mnc.lowering.linalg_to_spmd.strides import (
    StridesAfter,
    contractions_that_read,
    sliced_of_result,
    strides_of_result,
)
from mnc.lowering.linalg_to_spmd.tiles import WindowedOperand, copied_windows, is_read_through, tiled_operands
from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates import Contraction, Operand
from mnc.mncore_backend.placement.problem import (
    Loops,
    Operation,
    Pinned,
    Problem,
    Product,
    Reader,
    Rearrangement,
    Reshape,
    Tensor,
    Transposition,
    Use,
)
from mnc.mncore_backend.placement.solve.room import room_for_constants
from mnc.mncore_backend.target import Precision

MOVED_ONLY = ("arith.constant", "tensor.empty", "linalg.fill")


class Poser:
    """Reads the operations of a function one by one. `operations` holds, per operation of the problem, where it is in
    the IR. `for_constants`: long words of a PE for constants that are on the chip between runs; none are with 0."""

    def __init__(self, precision: Precision, homes: Homes, *, for_constants: int = 0) -> None:
        self.precision: Precision = precision
        self.homes = homes
        self.for_constants = for_constants
        self.strides = StridesAfter()
        self.batches = Batches(())
        self.operations: list[Any] = []
        self._kept: set[Any] = set()
        self._homes: dict[Any, int] = {}  # of results, the tensors that they replace

    def pose(self, function: Any, whole: int) -> Problem:
        """The problem of a function. Raises CompileError for operations that have no lowering."""
        block = function.regions[0].blocks[0]
        ops = [op for op in block.operations if self._takes_part(op)]
        self.operations = [op.operation for op in ops]
        self.batches = Batches(self.operations)
        self._kept = set(kept_arguments(function))
        values = [*block.arguments, *(result for op in block.operations for result in op.operation.results)]
        self._tensors = {value: i for i, value in enumerate(values)}
        found = {v: self.homes.replaced_by(v) for v in results_of(function)}
        self._homes = {v: self._tensors[argument] for v, argument in found.items() if argument is not None}
        self._numbers = {op: i for i, op in enumerate(self.operations)}
        made = {op.results[0]: i for op, i in self._numbers.items()}
        tensors = [self._tensor(value, made.get(value)) for value in values]
        placed = [(self._tensors[argument], layout) for argument, layout in placed_arguments(function)]
        for number, _ in placed:
            tensors[number] = replace(tensors[number], kept=True)
        for result, layout in placed_results(function):
            self._homes[result] = len(tensors)
            placed.append((len(tensors), layout))
            tensors.append(Tensor(shape_of(result), kept=True))
        stored = [v for v in stored_results(function) if v not in self._homes]
        return Problem(
            tuple(tensors), tuple(map(self._operation, self.operations)), whole,
            tuple(self._tensors[v] for v in stored), self.for_constants or (room_for_constants() if self._kept else 0),
            tuple((self._tensors[v], home) for v, home in self._homes.items()), tuple(placed),
        )  # fmt: skip

    def _tensor(self, value: Any, made_by: int | None) -> Tensor:
        if not is_tensor(value):
            return Tensor(())
        uniform = splat_value(value) is not None
        stays = not uniform and self._stays(value)
        kept = value in self._kept or self.homes.is_kept(value)
        return Tensor(shape_of(value), made_by, kept=kept, resident=stays, is_uniform=uniform)

    def _stays(self, value: Any) -> bool:
        """Whether a tensor is on the chip between runs and never changes: a constant, or an argument that is kept."""
        if isinstance(value.owner, ir.Block):
            return value in self._kept
        return self.for_constants > 0 and value.owner.name == "arith.constant"

    @staticmethod
    def _takes_part(op: Any) -> bool:
        """Whether an operation wants a place. Raises CompileError if it cannot have one."""
        name = op.operation.name
        if name in ("linalg.generic", *RESHAPES, *REARRANGEMENTS):
            if touches_empty(op.operation):
                raise error_at(op, "works on a tensor without elements", hint="run drop-empty first")
            if name == "linalg.generic":
                read_generic(op)
                return splat_value(op.operation.results[0]) is None
            if name in RESHAPES:
                return True
            is_read = name == "tensor.pad" and is_read_through(op.operation)
            return not is_read and not is_stored_in_parts(op.operation)
        if name not in (*MOVED_ONLY, "func.return") and any(
            isinstance(v.type, ir.RankedTensorType) for v in op.operation.results
        ):
            raise error_at(op, "has no lowering to the machine", hint="lower it to linalg.generic or tensor operations")
        return False

    def _operation(self, op: Any) -> Operation:
        name, result = node_name(op.location) or "", self._tensors[op.results[0]]
        if op.name in RESHAPES:
            return Reshape(name, result, self._tensors[op.operands[0]])
        if op.name in REARRANGEMENTS or (is_reversal(op) and is_part_of_dram(op)):
            part_of = self._tensors[before_reshapes(op.operands[0])] if is_part_of_dram(op) else None
            pieces = pieces_of(op)
            sources = tuple(self._tensors[own.source] for own in pieces)
            return Rearrangement(name, result, sources, tuple(own.box for own in pieces), part_of)
        generic = read_generic(op.opview)
        if RESULT in op.attributes:
            return self._pinned(op, generic, name)
        if is_transposition(generic):
            source = self._tensors[generic.inputs[0].value]
            return Transposition(name, result, source, tuple(transposition_order(generic)))
        tiled = tiled_operands(generic)
        if generic.kind == "contraction":
            return self._product(op, generic, tiled, name)
        return self._loops(op, generic, tiled, name)

    def _pinned(self, op: Any, generic: Generic, name: str) -> Pinned:
        written = list(op.attributes[OPERANDS]) if OPERANDS in op.attributes else []
        if len(written) != len(generic.inputs):
            message = f"has a layout for its result, and {len(written)} for its {len(generic.inputs)} operands"
            hint = f"write {OPERANDS} = [...] with a layout or unit for each, or leave out {RESULT}"
            raise error_at(op, message, hint)
        given = zip(generic.inputs, written, strict=True)
        wanted = [(i.value, own) for i, own in given if i.access is not None and not isinstance(own, ir.UnitAttr)]
        operands = tuple((self._tensors[value], _written(op, own, shape_of(value))) for value, own in wanted)
        layout = _written(op, op.attributes[RESULT], shape_of(op.results[0]))
        return Pinned(name, self._tensors[op.results[0]], operands, layout)

    def _use(self, generic: Generic, number: int, tiled: dict[int, WindowedOperand]) -> Use:
        operand = generic.inputs[number]
        windowed, is_direct = tiled.get(number), operand.access is not None
        return Use(
            self._tensors[operand.value],
            iteration_access(operand),
            operand_shape(operand, generic.extents),
            is_direct=is_direct,
            windows=None if windowed is None else windowed.windows,
            copied=None if is_direct or windowed is not None else copied_windows(operand, generic.parallel),
            source=None if windowed is None else self._tensors[windowed.source],
            in_parts=windowed is None and is_direct and self._may_come_in_parts(operand.value),
        )

    def _may_come_in_parts(self, value: Any) -> bool:
        return may_come_in_parts(value) and not self._stays(value)

    def _factor(self, operand: Input, tiled: WindowedOperand | None) -> Operand:
        """A factor of a contraction as plans see it."""
        stays = tiled is None and self._stays(before_reshapes(untransposed(operand.value)[0]))
        kept = tiled is None and self.homes.is_kept(operand.value)
        factor = factor_of(operand, tiled, kept=kept)
        alone = comes_alone(operand, tiled) and not (stays or self.homes.is_kept(operand.value))
        return replace(factor, alone=alone, resident=stays, in_parts=factor.in_parts and not stays)

    def _loops(self, op: Any, generic: Generic, tiled: dict[int, WindowedOperand], name: str) -> Loops:
        chosen = ir.IntegerAttr(op.attributes[CHOSEN]).value if CHOSEN in op.attributes else 0
        return Loops(
            name,
            self._tensors[op.results[0]],
            tuple(self._use(generic, i, tiled) for i in range(len(generic.inputs))),
            generic.result,
            generic.extents,
            generic.parallel,
            work=body_work(op),
            combines=combines_across_pes(generic),
            chosen=tuple(range(len(generic.extents) - chosen, len(generic.extents))),
            replaces=self._homes.get(op.results[0]),
            sliced=sliced_of_result(generic, op.results[0]),
            batches=self.batches.of_result(generic),
        )

    def _product(self, op: Any, generic: Generic, tiled: dict[int, WindowedOperand], name: str) -> Product:
        left, right = (self._use(generic, i, tiled) for i in range(2))
        own_left, own_right = (self._factor(operand, tiled.get(i)) for i, operand in enumerate(generic.inputs))
        contraction = Contraction(
            generic.extents,
            own_left,
            own_right,
            generic.result,
            precision=precision_of(op, self.precision),
            blocks=contracted_elsewhere(generic),
            strides=strides_of_result(generic, self.strides.of(op.results[0])),
            sliced=sliced_of_result(generic, op.results[0]),
            batches=self.batches.of_result(generic),
        )
        return Product(
            name,
            self._tensors[op.results[0]],
            self._with_readers(left, generic, 0),
            self._with_readers(right, generic, 1),
            contraction,
            self._updated_by(op.results[0]),
            tuple(
                self._reader(other, read)
                for other, read in contractions_that_read(op.results[0])
                if RESULT not in other.attributes
            ),
        )

    def _updated_by(self, value: Any) -> int | None:
        """The tensor that a value replaces, itself or by way of one element-wise operation."""
        results = [value, *element_wise_results(value)] if self._homes else []
        return next((self._homes[own] for own in results if own in self._homes), None)

    def _reader(self, op: Any, read: Any) -> Reader:
        """A product that comes later, and which of its factors is `read`."""
        generic = read_generic(op.opview)
        tiled = tiled_operands(generic)
        source = tiled[0].source if 0 in tiled else generic.inputs[0].value
        return Reader(self._numbers[op], "left" if source == read else "right")

    def _with_readers(self, use: Use, generic: Generic, number: int) -> Use:
        """The same with the other products that read what transpositions make the factor of, or that replace it, itself
        or by way of one element-wise operation."""
        value = untransposed(generic.inputs[number].value)[0]
        found = [op for op, read in contractions_that_read(value) if read == value]
        owners = [new.owner for new in self.homes.values_for(value)]
        made = [op for op in owners if not isinstance(op, ir.Block) and op.name == "linalg.generic"]
        found += [op for op in made if read_generic(op.opview).kind == "contraction"]
        others = [self._numbers[op] for op in found if op != generic.op.operation and RESULT not in op.attributes]
        return replace(use, readers=tuple(others))


def _written(op: Any, attribute: Any, shape: Sequence[int]) -> Layout:
    """A layout that is written on an operation. Raises CompileError where it does not fit the shape."""
    try:
        return layout_in(attribute, shape)
    except ValueError as error:
        hint = "the digits of each dimension hold as many values as its extent, or more"
        raise error_at(op, f"the layout {attribute} does not fit {text(shape)}: {error}", hint) from None
