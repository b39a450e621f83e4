"""python -m benchmarks.compare OLD.json NEW.json: every number side by side, with the ratio."""

import json
import sys
from pathlib import Path
from typing import Any


def _numbers(prefix: str, value: Any) -> dict[str, float]:
    if isinstance(value, dict):
        return {k: v for key, part in value.items() for k, v in _numbers(f"{prefix}{key} / ", part).items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {prefix.removesuffix(" / "): float(value)}
    return {}


def _written(value: float) -> str:
    """Whole numbers in full, others with four digits, which errors need after many zeros."""
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e13 else f"{value:,.4g}"


def main(arguments: list[str]) -> int:
    """Print the table; 2 for wrong arguments."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    old, new = (json.loads(Path(path).read_text()) for path in arguments)
    before, after = (_numbers("", part["results"]) for part in (old, new))
    print(f"{'':60} {old['commit']:>14} {new['commit']:>14}  ratio")
    for name in sorted(before | after):
        a, b = before.get(name), after.get(name)
        ratio = f"{b / a:6.3g}" if a and b is not None else ""
        cells = ("" if value is None else _written(value) for value in (a, b))
        print(f"{name:60} " + " ".join(f"{cell:>14}" for cell in cells) + f"  {ratio}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
