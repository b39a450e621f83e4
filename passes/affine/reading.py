"""Reading affine loops and loads as plain data."""

from dataclasses import dataclass
from typing import Any

from mnc.core.bindings import ir
from mnc.passes.affine.window import Index


@dataclass(frozen=True)
class Loop:
    """An `affine.for` from 0 to a constant with step 1."""

    op: ir.Operation
    variable: Any
    trips: int

    def contains(self, op: ir.Operation) -> bool:
        """True if `op` is inside the loop."""
        parent = op.parent
        while parent is not None:
            if parent.operation == self.op:
                return True
            parent = parent.operation.parent
        return False


def constant_loop(op: ir.Operation) -> Loop | None:
    """Read an `affine.for`; None when it has other bounds or another step."""
    lower, upper = (ir.AffineMapAttr(op.attributes[name]).value for name in ("lowerBoundMap", "upperBoundMap"))
    step = ir.IntegerAttr(op.attributes["step"]).value
    bounds = [list(map_.results) for map_ in (lower, upper)]
    if step != 1 or any(len(b) != 1 or not isinstance(b[0], ir.AffineConstantExpr) for b in bounds):
        return None
    if bounds[0][0].value != 0:
        return None
    return Loop(op, op.regions[0].blocks[0].arguments[0], bounds[1][0].value)


def operations_inside(root: ir.Operation, name: str) -> list[ir.Operation]:
    """All operations called `name` inside `root`, in order."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit)
    return found


def loops_inside(op: ir.Operation) -> list[Loop]:
    """Loops below `op`, without itself; only those that `constant_loop` reads."""
    loops = [constant_loop(inner) for inner in operations_inside(op, "affine.for") if inner != op]
    return [loop for loop in loops if loop is not None]


def outer_loops(op: ir.Operation) -> list[Loop | None]:
    """Loops around `op`, innermost first; None for what `constant_loop` cannot read."""
    loops: list[Loop | None] = []
    parent = op.parent
    while parent is not None and parent.operation.name != "func.func":
        is_loop = parent.operation.name == "affine.for"
        loops.append(constant_loop(parent.operation) if is_loop else None)
        parent = parent.operation.parent
    return loops


def index_of(access: ir.Operation) -> list[Index] | None:
    """Indices of an `affine.load` over loop variables; None when one is not linear."""
    map_ = ir.AffineMapAttr(access.attributes["map"]).value
    names = list(access.operands)[1:]
    indices = [_linear(expression, names) for expression in map_.results]
    return None if any(index is None for index in indices) else [index for index in indices if index is not None]


def _linear(expression: Any, names: list[Any]) -> Index | None:
    if isinstance(expression, ir.AffineConstantExpr):
        return Index({}, expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return Index({names[expression.position]: 1})
    if not isinstance(expression, ir.AffineAddExpr | ir.AffineMulExpr):
        return None
    lhs, rhs = _linear(expression.lhs, names), _linear(expression.rhs, names)
    if lhs is None or rhs is None:
        return None
    if isinstance(expression, ir.AffineAddExpr):
        total = dict(lhs.coefficients)
        for name, coefficient in rhs.coefficients.items():
            total[name] = total.get(name, 0) + coefficient
        return Index(total, lhs.constant + rhs.constant)
    lhs, rhs = (rhs, lhs) if not lhs.coefficients else (lhs, rhs)
    if rhs.coefficients:
        return None
    return Index({name: c * rhs.constant for name, c in lhs.coefficients.items()}, lhs.constant * rhs.constant)
