"""Checkpoints: everything that the next step depends on, in one .npz file that is replaced at once or not at all."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mnc import checksums
from mnc.core.diagnostics import CompileError
from mnc.core.files import cannot_write, whole_file
from mnc.core.json_text import parsed_json
from mnc.core.npz import UNREADABLE, open_npz

FORMAT = 2
_PREFIX = "state/"
_CAUSES = ("data", "optimizer", "seed")  # settings on which others depend: told first
_HINT = "start again without --resume, or give another checkpoint"


@dataclass
class Progress:
    """How far a run has come, and what it saw on the way.

    Attributes:
        epoch: epochs that are finished.
        position: steps done in the epoch after them.
        losses: loss of every step.
        accuracies: share of test images that are classified correctly, after each epoch.
    """

    epoch: int = 0
    position: int = 0
    losses: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)

    def fits(self, steps_per_epoch: int) -> bool:
        """Whether the numbers agree with each other, as those of a run do."""
        counts, values = (self.epoch, self.position), (*self.losses, *self.accuracies)
        sound = all(type(n) is int and n >= 0 for n in counts) and all(type(v) is float for v in values)
        if not sound or not np.isfinite(values).all() or self.position > steps_per_epoch:
            return False
        return (len(self.losses), len(self.accuracies)) == (self.epoch * steps_per_epoch + self.position, self.epoch)


def save_checkpoint(path: Path, state: dict[str, np.ndarray], progress: Progress, settings: dict[str, Any]) -> None:
    """Write a checkpoint; an older one of the same name survives any failure.

    Raises:
        CompileError: the file cannot be written.
    """
    content = {"format": FORMAT, "progress": asdict(progress), "settings": settings}
    header = json.dumps({**content, checksums.KEY: checksums.checksum(content, state)})
    arrays = {f"{_PREFIX}{name}": value for name, value in state.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None
    with whole_file(path) as file:
        np.savez(file, header=np.array(header), **arrays)  # pyright: ignore[reportArgumentType]


def load_checkpoint(
    path: Path, state: dict[str, np.ndarray], settings: dict[str, Any], steps_per_epoch: int
) -> tuple[dict[str, np.ndarray], Progress]:
    """Read a checkpoint that continues a run with this `state` (for names and shapes), `settings` and length of epochs.

    Raises:
        CompileError: the file is missing or damaged, or belongs to another run.
    """
    try:
        with open_npz(path) as file:
            header = parsed_json(str(file["header"]))
            arrays = {key.removeprefix(_PREFIX): file[key] for key in file.files if key.startswith(_PREFIX)}
        version = header["format"] if isinstance(header, dict) else None
        if version == FORMAT:
            checksums.check(header, arrays)
        progress = Progress(**header["progress"])
        found = dict(header["settings"])
    except FileNotFoundError:
        raise CompileError(f"there is no checkpoint '{path}'", hint="start without --resume") from None
    except UNREADABLE as error:
        raise CompileError(f"checkpoint '{path}' is damaged: {error}", hint=_HINT) from None
    if version != FORMAT:
        raise CompileError(f"checkpoint '{path}' has format {version}, this version reads {FORMAT}", hint=_HINT)
    _compare(path, found, settings)
    for name in sorted(set(state) | set(arrays)):
        if name not in arrays or name not in state or arrays[name].shape != state[name].shape:
            raise CompileError(f"checkpoint '{path}' is of another model: '{name}' differs", hint=_HINT)
        if arrays[name].dtype != state[name].dtype:
            raise CompileError(f"checkpoint '{path}' is damaged: '{name}' is {arrays[name].dtype}", hint=_HINT)
        if not np.isfinite(arrays[name]).all():
            raise CompileError(f"checkpoint '{path}' is damaged: '{name}' holds NaN or infinity", hint=_HINT)
    if not progress.fits(steps_per_epoch):
        raise CompileError(f"checkpoint '{path}' is damaged: its counts of steps and epochs disagree", hint=_HINT)
    return arrays, progress


def _compare(path: Path, found: dict[str, Any], settings: dict[str, Any]) -> None:
    for key in sorted(set(found) | set(settings), key=lambda name: (name not in _CAUSES, name)):
        if found.get(key) != settings.get(key):
            message = f"checkpoint '{path}' was made with {key} {found.get(key)}, this run has {settings.get(key)}"
            if key == "samples":
                message = f"checkpoint '{path}' was made with other images or labels of the same name"
            raise CompileError(message, hint="a run continues with the settings it was started with")
