"""Sets of L1Bs of an L2B: ``@<b0>/<i>``, ``@<b0>`` and lists (SDM 3.6.7.1; brackets OPEN-07)."""

from mnc.mncore_backend.emulator.geometry import L1BS_PER_L2B


def pattern_set(first: int, free: int) -> tuple[int, ...]:
    """L1Bs that agree with `first` in the bits that `free` leaves fixed."""
    return tuple(b for b in range(L1BS_PER_L2B) if (b & ~free & 7) == (first & ~free & 7))


def parse_set(modifier: str) -> tuple[tuple[int, ...], int]:
    """(members, free bits) of a set as written behind ``@``; no text means all eight. Raises ValueError."""
    text = modifier.removeprefix("@").strip("[]")
    if not text:
        return tuple(range(L1BS_PER_L2B)), 7
    if "," in text:
        members = tuple(sorted({int(part) for part in text.split(",")}))
        for free in range(8):
            if pattern_set(members[0], free) == members:
                return members, free
        raise ValueError(f"'{modifier}' is not a legal set of L1Bs")
    first, _, free_text = text.partition("/")
    free = int(free_text or 0)
    if not (0 <= int(first) < L1BS_PER_L2B and 0 <= free < L1BS_PER_L2B):
        raise ValueError(f"'{modifier}' is not a legal set of L1Bs")
    return pattern_set(int(first), free), free
