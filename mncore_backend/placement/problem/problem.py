"""The problem: tensors, and the operations that read and make them, with what decides about places and nothing else.

It is made of the program on tensors (`lowering/linalg_to_spmd/pose_placement.py`), and solved without it. Tensors and
operations are numbered; operations stand in the order of the program.
"""

from dataclasses import KW_ONLY, dataclass

from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.placement.candidates import Access, Box, Contraction, Windows


@dataclass(frozen=True)
class Tensor:
    """A value of the program.

    Attributes:
        shape: extents.
        made_by: number of the operation that makes it; None for what is in DRAM, or is the same everywhere.
        kept: it is an input that stays on the chip between runs, because a result replaces it.
        resident: it is a constant that stays there: it never arrives, and takes room as long as the program runs.
        is_uniform: all elements are the same and known: it is nowhere.
    """

    shape: tuple[int, ...]
    made_by: int | None = None
    kept: bool = False
    resident: bool = False
    is_uniform: bool = False


@dataclass(frozen=True)
class Use:
    """How an operation reads a tensor.

    Attributes:
        tensor: its number.
        access: the iteration dimension of each dimension of the operand, or of the copy that is made of its windows.
        shape: of the operand, or of that copy.
        is_direct: the operand itself is read. Otherwise it is indexed in a way that needs a copy, or by `windows`.
        windows: it is read through windows: tiles of `source`, which is what lies behind paddings.
        copied: a copy is made of what its windows show, if they are such; without a `source`.
        in_parts: a constant that nobody else reads: it may come in parts.
        readers: numbers of other products that read or replace this tensor.
    """

    tensor: int
    access: Access
    shape: tuple[int, ...]
    _: KW_ONLY
    is_direct: bool = True
    windows: Windows | None = None
    copied: Windows | None = None
    source: int | None = None
    in_parts: bool = False
    readers: tuple[int, ...] = ()

    @property
    def is_scalar(self) -> bool:
        """Whether every point of the iteration space reads the same."""
        return all(d is None for d in self.access)


@dataclass(frozen=True)
class Reader:
    """A product that reads a tensor later: its number, and by which factor (``left`` or ``right``)."""

    operation: int
    side: str


@dataclass(frozen=True)
class Product:
    """A contraction. `contraction` holds what is known before places are; `updates` is the kept input that the result
    replaces, itself or by way of element-wise work; `later` are products that read the result."""

    name: str
    result: int
    left: Use
    right: Use
    contraction: Contraction
    updates: int | None = None
    later: tuple[Reader, ...] = ()


@dataclass(frozen=True)
class Loops:
    """Element-wise work and reductions over an iteration space.

    Attributes:
        uses: what is read.
        access: iteration dimension of each dimension of the result.
        extents, parallel: of the iteration space.
        work: instructions per point.
        combines: whether partial results may be combined across PEs.
        chosen: dimensions in which computed indices choose elements.
        replaces: the kept input that the result replaces.
        sliced: iteration dimensions of the result of which parts are taken afterwards, as the steps of a sequence.
        batches: iteration dimensions of the result that are batches of products, here or elsewhere.
    """

    name: str
    result: int
    uses: tuple[Use, ...]
    access: Access
    extents: tuple[int, ...]
    parallel: tuple[bool, ...]
    _: KW_ONLY
    work: int = 1
    combines: bool = False
    chosen: tuple[int, ...] = ()
    replaces: int | None = None
    sliced: frozenset[int] = frozenset()
    batches: frozenset[int] = frozenset()

    @property
    def is_element_wise(self) -> bool:
        """Whether every point has a result of its own: nothing is computed twice, nothing combined."""
        return all(self.parallel) and set(self.access) == set(range(len(self.extents)))

    @property
    def can_wait(self) -> bool:
        """Whether it may be placed later if its operands are free: element-wise work, and sums of everything."""
        return self.is_element_wise or (self.combines and not any(self.parallel))


@dataclass(frozen=True)
class Transposition:
    """A view: dimension `order[i]` of the source is dimension i of the result."""

    name: str
    result: int
    source: int
    order: tuple[int, ...]


@dataclass(frozen=True)
class Reshape:
    """The same elements in row-major order under another shape."""

    name: str
    result: int
    source: int


@dataclass(frozen=True)
class Rearrangement:
    """A slice, a padding, a concatenation. `boxes`: of each source what the result takes, None if that is no box.
    `part_of` is what it is a part of, if that is in DRAM: as long as nobody has brought the whole to the chip, the
    part is loaded by itself."""

    name: str
    result: int
    sources: tuple[int, ...]
    boxes: tuple[Box | None, ...]
    part_of: int | None = None


@dataclass(frozen=True)
class Pinned:
    """An operation whose layouts were written by hand. `operands`: tensors and where they are wanted."""

    name: str
    result: int
    operands: tuple[tuple[int, Layout], ...]
    layout: Layout


Operation = Product | Loops | Transposition | Reshape | Rearrangement | Pinned


@dataclass(frozen=True)
class Problem:
    """A function whose tensors want places. `whole` is the number of long words per PE beyond which a factor comes in
    parts; `returned` are the tensors that are stored at the end; `for_constants`: long words of a PE that constants may
    take that are `resident`; `replaced`: tensors that come to where kept inputs are, and these; `placed`: kept inputs
    that have a place from the beginning."""

    tensors: tuple[Tensor, ...]
    operations: tuple[Operation, ...]
    whole: int
    returned: tuple[int, ...] = ()
    for_constants: int = 0
    replaced: tuple[tuple[int, int], ...] = ()
    placed: tuple[tuple[int, Layout], ...] = ()
