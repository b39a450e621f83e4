"""Writing results: one JSON file per benchmark, with the commit it belongs to."""

import json
import os
import platform
import resource
import subprocess
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "results"


def cpu_seconds() -> float:
    """Processor time that this process and the finished ones it started have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _commit() -> str:
    """The commit, and whether anything but results of benchmarks is different from it."""
    root = DIRECTORY.parent.parent
    done = subprocess.run(["git", "describe", "--always"], capture_output=True, text=True, cwd=root)
    changed = ["git", "status", "--porcelain", "--untracked-files=no", "--", ".", f":!{DIRECTORY.relative_to(root)}"]
    is_dirty = bool(subprocess.run(changed, capture_output=True, text=True, cwd=root).stdout)
    return done.stdout.strip() + "-dirty" * is_dirty or "unknown"


def write_results(name: str, results: dict[str, Any]) -> Path:
    """Write `results` (name -> number or dictionary of numbers) as benchmarks/results/NAME.json."""
    DIRECTORY.mkdir(exist_ok=True)
    path = DIRECTORY / f"{name}.json"
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "processor": platform.machine()}
    path.write_text(json.dumps({"commit": _commit(), "machine": machine, "results": results}, indent=1) + "\n")
    return path
