"""A contraction as a problem: its factors, what is known of them, and a plan of where it runs."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.layout import Axis, Layout
from mnc.mncore_backend.placement.candidates.policy import PLAIN, Policy
from mnc.mncore_backend.placement.candidates.space import Access, Digits
from mnc.mncore_backend.placement.candidates.windows import Windows, kernel_dims, sliding_dims
from mnc.mncore_backend.target import Precision, chip


def half_memory() -> int:
    """Long words of a PE that a factor or result should not exceed: half of a local memory. Factors that come in parts
    of half of it are held twice, the one that is used and the one that arrives."""
    return chip().memories[Memory.LM0].longs // 2



@dataclass(frozen=True)
class Operand:
    """One factor: how it is indexed and where it is now (None: not on the chip yet, any layout can be loaded).

    A factor with `windows` is read through them: `access` lists the iteration dimensions that they mention, `layout`
    and `shape` are those of the tensor behind them. One that is `kept` on the chip between runs does not arrive, but
    what updates it, a sum as a rule, has to come to all its replicas. One that is `resident`, a constant, does not
    arrive either, but takes room as long as the program runs. One that comes `in_parts` may be larger than
    local memory. One that is read `alone` comes from DRAM for this contraction only: with the other factor, if that is
    too, it may come in parts (`joint`).
    """

    access: Access
    layout: Layout | None = None
    windows: Windows | None = None
    shape: tuple[int, ...] = ()
    kept: bool = False
    resident: bool = False
    in_parts: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Contraction:
    """result[r] += left[l] * right[r] over an iteration space.

    Attributes:
        extents: size of each iteration dimension.
        result: iteration dimension of each dimension of the result.
        precision: ``single``, ``pseudo-single`` or ``half``.
        blocks: iteration dimensions that another contraction of the same factor contracts. There they fill lanes; so
            a place gets whole blocks of them, which stay where they are.
        home: where the result has to come in the end, if that is known.
        strides: of windows through which the result is read afterwards, by iteration dimension: the next of them, and
            the product of all.
        sliced: iteration dimensions of the result of which parts are taken afterwards, as the steps of a sequence.
        batches: iteration dimensions of the result that are batches of products, here or elsewhere.
        policy: what is preferred.
    """

    extents: tuple[int, ...]
    left: Operand
    right: Operand
    result: Access
    _: KW_ONLY
    precision: Precision = "pseudo-single"
    blocks: frozenset[int] = frozenset()
    home: Layout | None = None
    strides: Mapping[int, tuple[int, int]] = field(default_factory=dict, hash=False)
    sliced: frozenset[int] = frozenset()
    batches: frozenset[int] = frozenset()
    policy: Policy = PLAIN

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Contractions are keys of dictionaries in which searches look up plans."""
        own = self.extents, self.left, self.right, self.result
        return hash((own, self.precision, self.blocks, self.home, self.policy))

    def __getstate__(self) -> dict[str, Any]:
        """Without the hash, which differs from process to process."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @property
    def inner(self) -> set[int]:
        """Dimensions that move inside a tile: they stay inside the PEs."""
        return kernel_dims(self.left.windows or ())

    @property
    def sliding(self) -> set[int]:
        """These, and the dimensions that are cut into tiles with halos: neither has lanes."""
        return sliding_dims(self.left.windows or ())

    def roles(self) -> dict[int, str]:
        """``b`` in both factors and the result, ``m`` left and result, ``n`` right and result, ``k`` contracted."""
        roles = {}
        for d in range(len(self.extents)):
            left, right, out = d in self.left.access, d in self.right.access, d in self.result
            roles[d] = "b" if left and right and out else "k" if not out else "m" if left else "n"
        return roles


@dataclass(frozen=True)
class ContractionPlan:
    """Layouts of the factors and of the result. `swapped`: the left factor is the matrix. `partial` names the hardware
    axes over which the result is still a set of partial sums. `matrix_share`: what comes from DRAM of the factor that
    is the matrix, as a share of what its singles would be: the host makes halves of constants."""

    left: Layout
    right: Layout
    result: Layout
    swapped: bool
    partial: tuple[Axis, ...]
    cost: float
    digits: dict[int, Digits]
    matrix_share: float = 1.0

    @property
    def all_digits(self) -> tuple[Digits, ...]:
        """Digits of the iteration dimensions, in order."""
        return tuple(self.digits.get(d, ()) for d in range(1 + max(self.digits, default=-1)))

    @property
    def done(self) -> tuple[object, ...]:
        """What is done, whatever it costs: plans that agree in it are one."""
        return self.left, self.right, self.result, self.swapped, self.partial, self.all_digits

    def arriving(self, number: int) -> float:
        """The share of factor 0 or 1 that comes from DRAM, if it comes from there."""
        return self.matrix_share if (number == 0) == self.swapped else 1.0
