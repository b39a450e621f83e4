"""What a user can choose about a compilation, shared by Python and the command line."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mnc.mncore_backend.distribution.policy import Preference

Precision = Literal["single", "pseudo-single"]
Resident = Literal["nothing", "state", "batch"]


@dataclass(frozen=True)
class Options:
    """Choices of a compilation; they set fields of passes and never change the list of passes.

    Attributes:
        precision: of matrix products. ``pseudo-single`` keeps 18 bits of each factor and is twice as fast as
            ``single``, which keeps 23; both accumulate in single. Everything else is single.
        shapes: shapes of model inputs, for models that leave dimensions open; or single extents by their names.
        resident: what stays in local memory from run to run. ``state``: weights, and inputs that an output updates, as
            the parameters of a training step; ``batch``: also the other inputs, which a run loads for the next one.
        updates: input -> output that is its value in the next run, for models in which nothing says so.
        prefer: what decisions about layouts prefer beyond prices, see `mncore_backend/distribution/policy.py`; None:
            small programs are compiled with several preferences, and the shortest is kept.
        dump_dir: directory that gets the IR after each stage, constants elided.
    """

    precision: Precision = "pseudo-single"
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    dump_dir: Path | None = None
    resident: Resident = "nothing"
    updates: dict[str, str] = field(default_factory=dict)
    prefer: tuple[Preference, ...] | None = None
