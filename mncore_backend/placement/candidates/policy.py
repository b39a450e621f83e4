"""What decisions about places prefer beyond rough prices, which know nothing of what waits for what.

Small programs mostly wait. They are compiled with several preferences, and the shortest is kept.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import get_args

from mnc.mncore_backend.layout import Axis
from mnc.mncore_backend.placement.preferences import Preference

SPLIT_AXES = (Axis.L2B, Axis.L1B, Axis.MAB)


@dataclass(frozen=True)
class Policy:
    """Preferences.

    Attributes:
        axes: over which element-wise work and reductions are split. Along the others all places do the same: more work
            for each, but nothing has to be exchanged between them.
        contraction_axes: over which contractions are split.
        by_rows: whether contractions are split over the L2Bs by their rows or batches only.
        whole_axes: whether contractions may leave an axis to one dimension where two would share it.
        cyclic: whether elements are dealt out in turn instead of in blocks where blocks would not be powers of two.
    """

    axes: tuple[Axis, ...] = SPLIT_AXES
    contraction_axes: tuple[Axis, ...] = SPLIT_AXES
    by_rows: bool = False
    whole_axes: bool = False
    cyclic: bool = False


PLAIN = Policy()


def of_contractions(policy: Policy) -> Policy:
    """The part of a policy that the plans of a product depend on. Policies that agree in it share those plans."""
    return Policy(
        contraction_axes=policy.contraction_axes,
        by_rows=policy.by_rows,
        whole_axes=policy.whole_axes,
        cyclic=policy.cyclic,
    )


def policy_of(preferences: Collection[Preference]) -> Policy:
    """The policy of one who prefers all this."""
    inside = SPLIT_AXES[1:]
    return Policy(
        axes=inside if {"alike", "tensor-parallel"} & set(preferences) else SPLIT_AXES,
        contraction_axes=inside if "alike" in preferences else SPLIT_AXES,
        by_rows="data-parallel" in preferences,
        whole_axes="whole-axes" in preferences,
        cyclic="cyclic" in preferences,
    )


def preferences_of(policy: Policy) -> tuple[Preference, ...]:
    """The inverse of `policy_of`."""
    is_held = {
        "alike": Axis.L2B not in policy.contraction_axes,
        "tensor-parallel": Axis.L2B not in policy.axes and Axis.L2B in policy.contraction_axes,
        "data-parallel": policy.by_rows,
        "whole-axes": policy.whole_axes,
        "cyclic": policy.cyclic,
    }
    return tuple(name for name in get_args(Preference) if is_held.get(name, False))
