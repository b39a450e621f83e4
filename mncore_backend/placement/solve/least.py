"""What the operations of a problem cost at least, wherever tensors are: a lower bound for what is left to do.

Element-wise work takes the time that it takes if all PEs share it, and a matrix product that of all matrix units at
their peak: a layout has no more places than the machine. Movements may take no time, and neither may arrivals.
"""

from math import prod

from mnc.mncore_backend.movement.transfers import CYCLES
from mnc.mncore_backend.placement.cost.weights import WEIGHTS
from mnc.mncore_backend.placement.problem import Loops, Operation, Problem, Product
from mnc.mncore_backend.target import CYCLES_PER_STEP, LONG_BYTES, WORD_BYTES, chip


def least_prices(problem: Problem) -> list[float]:
    """Of every operation what any solution pays for it at least."""
    return [_least(problem, op) for op in problem.operations]


def _least(problem: Problem, op: Operation) -> float:
    match op:
        case Product():
            at_once = chip().peak_multiply_adds(op.contraction.precision) * CYCLES_PER_STEP
            return WEIGHTS["kernel"] * prod(op.contraction.extents) / at_once
        case Loops():
            shapes = [problem.tensors[op.result].shape, *(use.shape for use in op.uses)]
            if any(use.windows is not None for use in op.uses):
                shapes = [op.extents]
            places = chip().pes * LONG_BYTES // WORD_BYTES
            longs = max(-(-prod(shape) // places) for shape in shapes)
            return WEIGHTS["work"] * op.work * -(-longs // CYCLES)
        case _:
            return 0.0
