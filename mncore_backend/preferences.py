"""Preferences about layouts by name, as users write them; `distribution.policy` says what they set."""

from typing import Literal

Preference = Literal["alike", "foresight", "still"]
"""What a choice among layouts favours, beyond its price.

``alike``: no tensor is split over the L2Bs. All of them compute the same, and nothing is exchanged between them.
``foresight``: a layout is chosen for what it saves in later operations, even where that estimate is uncertain.
``still``: tensors keep their layouts, as long as the matrix unit loses less time than a transfer takes.
"""
