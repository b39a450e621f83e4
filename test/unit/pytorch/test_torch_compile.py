"""From PyTorch to the emulated chip."""

import runpy
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")


def test_three_steps_on_the_chip_follow_torch(capsys: pytest.CaptureFixture[str]) -> None:
    """The example compares losses and weights itself, within the bound of single precision."""
    names = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "04_torch_training.py"))
    assert len(names["found"]) == 3 and names["weights"] < 1e-5
    assert "largest difference of a weight" in capsys.readouterr().out
