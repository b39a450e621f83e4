"""What a price is made of: steps for which each unit of the chip is busy, and steps in which all wait."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Resources:
    """Steps for which each unit is busy. `latency` are steps of transfers that wait for each other.

    What overlaps in time is the largest of them, what does not is their sum.
    """

    mau: float = 0.0
    alu: float = 0.0
    mv: float = 0.0
    l2bm: float = 0.0
    l1bm: float = 0.0
    latency: float = 0.0

    @property
    def all(self) -> tuple[float, ...]:
        """In the order of `UNITS`."""
        return self.mau, self.alu, self.mv, self.l2bm, self.l1bm, self.latency

    def __add__(self, other: "Resources") -> "Resources":
        return Resources(*(a + b for a, b in zip(self.all, other.all, strict=True)))

    def __mul__(self, times: float) -> "Resources":
        return Resources(*(own * times for own in self.all))

    @property
    def bound(self) -> float:
        """Steps if everything overlaps."""
        return max(self.all)

    @property
    def in_slices(self) -> float:
        """Steps if all units work at once, on one slice of the data each, and all wait for the latencies."""
        return max(self.all[:-1]) + self.latency

    @property
    def work(self) -> float:
        """Steps of all units but for the MVs."""
        return self.mau + self.alu + self.l2bm + self.l1bm

    @property
    def exchanged(self) -> float:
        """Steps of MVs, and their latencies, if nothing overlaps."""
        return self.mv + self.latency

    @property
    def total(self) -> float:
        """Steps if nothing overlaps."""
        return sum(self.all)


UNITS = tuple(field.name for field in fields(Resources))
NOTHING = Resources()
