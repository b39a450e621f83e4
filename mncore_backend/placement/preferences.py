"""Preferences about layouts by name, as users write them; `candidates.policy` says what they set."""

from typing import Literal

Preference = Literal[
    "alike", "tensor-parallel", "data-parallel", "whole-axes", "cyclic", "together", "second", "third", "fourth",
    "fifth", "sixth",
]
"""What a choice among layouts favours, beyond its price.

``alike``: no tensor is split over the L2Bs. All of them compute the same, and nothing is exchanged between them.
``tensor-parallel``: all L2Bs do the same element-wise work, but contractions are split over them, and every L2B reads
weights of its own.
``data-parallel``: contractions are split over the L2Bs by the rows of their first factor or by batches, where there are
enough. Every L2B reads all weights, and no sums are exchanged between them.
``whole-axes``: contractions may leave an axis of the chip to one dimension where two would share it, as the images of a
batch and their rows do. Some places stay empty then, or one dimension is spread less, but parts meet more evenly.
``cyclic``: elements are dealt out to the places in turn, not in blocks, where blocks would not be powers of two.
``together``: all operations are placed together by a search, and not one after the other.
``second`` to ``sixth``: with ``together``, not the cheapest of the solutions that were compared but the next ones.
Prices are not exact, schedules are.
"""
Effort = Literal["quick", "normal"]
"""How much time is spent on a shorter program.

``normal``: searches go on with what movements really take, and several solutions are compiled.
``quick``: one solution is compiled, the best of what is found by rough prices.
"""
SHORTEST, PLAIN = "shortest", "plain"
"""Written in the place of names: several sets are tried, and the shortest program is kept; none at all."""
WHOLE_AXES: Preference = "whole-axes"
TOGETHER: Preference = "together"
NEXT: tuple[Preference, ...] = "second", "third", "fourth", "fifth", "sixth"
"""Preferences for a solution of the search that is not the cheapest, in their order."""
