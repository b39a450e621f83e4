"""Sets of L1Bs of an L2B: ``@<b0>/<i>``, ``@<b0>`` and lists (SDM 3.6.7.1; brackets OPEN-07)."""

from mnc.mncore_backend.emulator.geometry import geometry


def pattern_set(first: int, free: int) -> tuple[int, ...]:
    """L1Bs that agree with `first` in the bits that `free` leaves fixed."""
    count = geometry().l1bs_per_l2b
    fixed = count - 1 & ~free
    return tuple(b for b in range(count) if b & fixed == first & fixed)


def parse_set(modifier: str) -> tuple[tuple[int, ...], int]:
    """(members, free bits) of a set as written behind ``@``; no text means all. Raises ValueError."""
    count = geometry().l1bs_per_l2b
    text = modifier.removeprefix("@").strip("[]")
    if not text:
        return tuple(range(count)), count - 1
    if "," in text:
        members = tuple(sorted({int(part) for part in text.split(",")}))
        for free in range(count):
            if pattern_set(members[0], free) == members:
                return members, free
        raise ValueError(f"'{modifier}' is not a legal set of L1Bs")
    first, _, free_text = text.partition("/")
    free = int(free_text or 0)
    if not (0 <= int(first) < count and 0 <= free < count):
        raise ValueError(f"'{modifier}' is not a legal set of L1Bs")
    return pattern_set(int(first), free), free
