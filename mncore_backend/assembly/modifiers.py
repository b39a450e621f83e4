"""Meaning of opcode modifiers: L1B sets, selected MAB or L1B, MAB shift, mantissa length."""

from mnc.mncore_backend.target import cached_per_machine, chip


def all_l1bs() -> int:
    """The L1Bs of an L2B as a bit mask."""
    return (1 << chip().l1bs_per_l2b) - 1


def _numbers() -> range:
    return range(chip().l1bs_per_l2b)


def l1b_selector(modifier: str) -> int:
    """k of ``@k`` (``l2bm@k``: L1B; ``l1bmm@k``: MAB)."""
    return int(modifier[1:])


def mab_shift(modifier: str) -> int:
    """Signed shift of ``l1bmd+n`` / ``l1bmd-n``, 0 without."""
    return int(modifier) if modifier else 0


def mantissa_bits(modifier: str) -> int:
    """n of ``hbfn/n``, ``hbfe/n``."""
    return int(modifier[1:])


@cached_per_machine()
def set_of(base: int, free: int) -> int:
    """L1Bs of ``@base/free`` as a bit mask: those that agree with `base` outside the don't-care bits (SDM 3.6.7.1)."""
    count = chip().l1bs_per_l2b
    fixed = count - 1 & ~free
    return sum(1 << b for b in range(count) if b & fixed == base & fixed)


@cached_per_machine()
def l1b_set(modifier: str) -> int:
    """L1Bs selected by ``@b0``, ``@b0/i`` or a list (OPEN-07), as a bit mask; all without a modifier."""
    if not modifier:
        return all_l1bs()
    text = modifier[1:].strip("[]")
    if "/" in text:
        base, free = text.split("/")
        return set_of(int(base), int(free))
    return sum(1 << b for b in {int(b) for b in text.split(",")})


@cached_per_machine()
def is_legal_set(mask: int) -> bool:
    """The bit mask is one of the sets that ``@b0/i`` can name."""
    return any(mask == set_of(b, i) for b in _numbers() for i in _numbers())


@cached_per_machine()
def free_bits(mask: int) -> int:
    """Don't-care bits i of a legal set."""
    return next(i for i in _numbers() for b in _numbers() if mask == set_of(b, i))
