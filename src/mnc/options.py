"""What a user can choose about a compilation, shared by Python and the command line."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Precision = Literal["single", "pseudo-single"]


@dataclass(frozen=True)
class Options:
    """Choices of a compilation; they set fields of passes and never change the list of passes.

    Attributes:
        precision: of matrix products. ``pseudo-single`` keeps 18 bits of each factor and is twice as fast as
            ``single``, which keeps 23; both accumulate in single. Everything else is single.
        shapes: shapes of model inputs, for models that leave dimensions open.
        dump_dir: directory that gets the IR after each stage, constants elided.
    """

    precision: Precision = "pseudo-single"
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    dump_dir: Path | None = None
