"""python -m benchmarks: run all benchmarks, each in a process of its own, and say what they wrote."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NO_BENCHMARK = ("__init__", "__main__", "compare", "results", "torch_networks")


def main() -> int:
    """Run every module of this folder; the exit code counts those that failed."""
    (HERE / "results").mkdir(exist_ok=True)
    failed = 0
    for path in sorted(HERE.glob("*.py")):
        if path.stem in NO_BENCHMARK:
            continue
        print(f"== {path.stem}", flush=True)
        failed += subprocess.run([sys.executable, "-m", f"benchmarks.{path.stem}"], cwd=HERE.parent).returncode != 0
    print(f"results are in {HERE / 'results'}; compare two with python -m benchmarks.compare OLD NEW")
    return failed


if __name__ == "__main__":
    sys.exit(main())
