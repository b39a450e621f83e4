"""Random placement problems: products with constants and with each other, additions, activations, transpositions."""

from random import Random

from mnc.mncore_backend.placement.candidates import Contraction, Operand
from mnc.mncore_backend.placement.problem import Loops, Operation, Problem, Product, Tensor, Transposition, Use

ROWS, MIDDLE, COLUMNS = (0, 2), (2, 1), (0, 1)  # of a product over m, n, k
EXTENTS = (1, 3, 8, 17, 64, 130)
KINDS = "product", "product", "add", "relu", "transposed"


class _Maker:
    """A problem in the making: `made` are the tensors that may be read."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.tensors = [Tensor((random.choice(EXTENTS), random.choice(EXTENTS)))]
        self.operations: list[Operation] = []
        self.made = [0]

    def product(self, read: int) -> None:
        """A product with a new constant or with a tensor that fits."""
        rows, inner = self.tensors[read].shape
        fitting = [i for i in self.made if self.tensors[i].shape[0] == inner and i != read]
        if fitting and self.random.random() < 0.5:
            right = self.random.choice(fitting)
        else:
            right = len(self.tensors)
            self.tensors.append(Tensor((inner, self.random.choice(EXTENTS))))
        shape = rows, self.tensors[right].shape[1]
        contraction = Contraction((*shape, inner), Operand(ROWS), Operand(MIDDLE), COLUMNS)
        uses = Use(read, ROWS, (rows, inner)), Use(right, MIDDLE, self.tensors[right].shape)
        self._add(Product(f"product{len(self.operations)}", len(self.tensors), *uses, contraction), shape)

    def loops(self, read: int, count: int) -> None:
        """Element-wise work on so many tensors of one shape."""
        shape = self.tensors[read].shape
        alike = [i for i in self.made if self.tensors[i].shape == shape]
        uses = tuple(Use(i, (0, 1), shape) for i in (read, *(self.random.choice(alike) for _ in range(count - 1))))
        name = f"loops{len(self.operations)}"
        self._add(Loops(name, len(self.tensors), uses, (0, 1), shape, (True, True)), shape)

    def transposed(self, read: int) -> None:
        """A view."""
        name, (rows, columns) = f"transposed{len(self.operations)}", self.tensors[read].shape
        self._add(Transposition(name, len(self.tensors), read, (1, 0)), (columns, rows))

    def _add(self, op: Operation, shape: tuple[int, ...]) -> None:
        self.made.append(len(self.tensors))
        self.tensors.append(Tensor(shape, len(self.operations)))
        self.operations.append(op)


def random_problem(random: Random, operations: int) -> Problem:
    """A problem of so many operations, whose last result is stored."""
    maker = _Maker(random)
    for _ in range(operations):
        read = random.choice(maker.made)
        match random.choice(KINDS):
            case "product":
                maker.product(read)
            case "transposed":
                maker.transposed(read)
            case kind:
                maker.loops(read, 2 if kind == "add" else 1)
    return Problem(tuple(maker.tensors), tuple(maker.operations), 1024, (maker.made[-1],))
