"""What a vector kernel computes: a list of scalar operations in single assignment form, and the long words it is
applied to.

Every value is a 32-bit word; a long word holds two of them, so one iteration computes two elements on each of the
processing elements. Types: ``f32`` single, ``i32`` two's complement, ``i1`` an ``i32`` that is 0 or 1 in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.kernels.math.bits import float_bits
from mnc.mncore_backend.program import Buffer

LANES = 4  # cycles of a step
TYPES = ("f32", "i32", "i1")

# Result type by name: a fixed type, or the number of the operand that decides it.
_RESULT_TYPE: dict[str, str | int] = {
    **dict.fromkeys(("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "negf", "absf"), "f32"),
    **dict.fromkeys(("floor", "ceil", "roundeven", "sitofp", "uitofp", "exp", "log", "log1p", "sqrt", "rsqrt"), "f32"),
    **dict.fromkeys(("reciprocal", "tanh", "logistic", "erf", "sin", "cos", "powf"), "f32"),
    **dict.fromkeys(("fptosi", "addi", "subi", "muli", "maxsi", "minsi", "shli", "shrsi", "shrui", "extui"), "i32"),
    **dict.fromkeys(("maxui", "minui"), "i32"),
    **dict.fromkeys(("cmpf", "cmpi"), "i1"),
    **dict.fromkeys(("andi", "ori", "xori"), 0),
    "select": 1,
    "bitcast": "",
}
OPERATIONS = tuple(_RESULT_TYPE)

FLOAT_PREDICATES = ("oeq", "ogt", "oge", "olt", "ole", "one", "ueq", "ugt", "uge", "ult", "ule", "une")
INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value of a `Body`, by number."""

    number: int
    type: str


@dataclass(frozen=True, slots=True)
class Operation:
    """`name` is an entry of `OPERATIONS`, ``input`` or ``constant``. `attribute`: comparison predicate, input number,
    or the 32-bit pattern of a constant."""

    name: str
    operands: tuple[Scalar, ...]
    result: Scalar
    attribute: str | int = ""


@dataclass(slots=True)
class Body:
    """Scalar operations in an order that can be executed. The machine has no NaN, so ordered and unordered float
    predicates are the same."""

    operations: list[Operation] = field(default_factory=list)
    inputs: int = 0

    def _append(self, name: str, operands: Sequence[Scalar], type: str, attribute: str | int = "") -> Scalar:
        result = Scalar(len(self.operations), type)
        self.operations.append(Operation(name, tuple(operands), result, attribute))
        return result

    def input(self, type: str = "f32") -> Scalar:
        """The word read through the next input access of the kernel."""
        self.inputs += 1
        return self._append("input", (), type, self.inputs - 1)

    def constant(self, value: float | int | bool, type: str = "f32") -> Scalar:
        """A constant of the given type; floats are rounded to single."""
        bits = float_bits(value) if type == "f32" else int(value) & 0xFFFFFFFF
        return self._append("constant", (), type, bits)

    def op(self, name: str, *operands: Scalar, predicate: str = "", type: str = "") -> Scalar:
        """Append the operation `name` of `OPERATIONS`.

        Args:
            predicate: of ``cmpf`` (`FLOAT_PREDICATES`) and ``cmpi`` (`INTEGER_PREDICATES`).
            type: result type of ``bitcast``.

        Raises:
            InternalError: unknown name, predicate or type.
        """
        if name not in _RESULT_TYPE:
            raise InternalError(f"no vector operation is called {name!r}")
        allowed = {"cmpf": FLOAT_PREDICATES, "cmpi": INTEGER_PREDICATES}.get(name, ("",))
        if predicate not in allowed:
            raise InternalError(f"{name} has no predicate {predicate!r}")
        rule = _RESULT_TYPE[name]
        result = operands[rule].type if isinstance(rule, int) else rule or type
        if result not in TYPES:
            raise InternalError(f"{name}: no type is called {result!r}")
        return self._append(name, operands, result, predicate)


@dataclass(frozen=True, slots=True)
class Access:
    """The long word of `buffer` (in processing-element memory) that each iteration touches: `offsets` has shape
    [iterations]."""

    buffer: Buffer
    offsets: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", np.asarray(self.offsets, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Output:
    """Where a value goes. Without `reduce` each iteration stores it. With `reduce` (a two-operand entry of
    `OPERATIONS`, such as ``addf``, ``maximumf`` or ``andi``) the iterations that share an offset are combined; the
    result starts from `initial` (a number), from what the buffer holds (`initial` is ``"previous"``), or from nothing
    (None)."""

    access: Access
    value: Scalar
    reduce: str = ""
    initial: float | int | str | None = None


@dataclass(frozen=True, slots=True)
class VectorKernel:
    """`body` applied `iterations` times. Iterations are independent apart from `Output.reduce`: no iteration may read
    a long word that another one writes."""

    iterations: int
    inputs: tuple[Access, ...]
    body: Body
    outputs: tuple[Output, ...]

    def __post_init__(self) -> None:
        accesses = [*self.inputs, *(output.access for output in self.outputs)]
        if any(access.offsets.shape != (self.iterations,) for access in accesses):
            raise InternalError(f"every access of a vector kernel needs {self.iterations} offsets")
        if len(self.inputs) != self.body.inputs:
            raise InternalError(f"the body reads {self.body.inputs} inputs, the kernel has {len(self.inputs)}")
        for output in self.outputs:
            for read in self.inputs:
                if read.buffer is output.access.buffer:
                    _refuse_overlap(read.offsets, output)


def _refuse_overlap(read: np.ndarray, output: Output) -> None:
    """A buffer that is read and written must be accessed in place."""
    written = output.access.offsets
    foreign = np.isin(read, written) & (read != written)
    if output.reduce or foreign.any():
        if output.reduce and not np.isin(read, written).any():
            return
        raise InternalError(f"an iteration reads what another one writes in buffer {output.access.buffer.name}")
