"""Fit the price list to what the planner emits, and write `mncore_backend/pricing/fitted.json`.

    python scripts/fit_prices.py [--seconds N] [--seed N] [--samples FILE] [--kind KIND ...]

Samples are random movements and those that the compiler asks prices for in real models, half of each. What has been
measured is added to FILE, a line of JSON per sample, and counts with what it held before. With kinds, only their laws
are fitted, and the others stay.

Loads, stores and sums are counted by the price list itself. Movements on the chip have a law for each class, a product
of powers of amounts: least squares of logarithms, regularised as cross-validation says.
"""

import json
import random
import signal
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from price_models import recorded
from price_samples import KINDS, Sample, random_samples
from price_truth import measured

from mnc.mncore_backend.pricing import Resources, relayout
from mnc.mncore_backend.pricing.crossing import Crossing, crossing
from mnc.mncore_backend.pricing.facts import facts
from mnc.mncore_backend.pricing.joining import fills, join_crossing
from mnc.mncore_backend.pricing.reshaping import reshape_crossing
from mnc.mncore_backend.pricing.resources import UNITS
from mnc.mncore_backend.pricing.table import CLASSES, FEATURES_OF, FITTED, class_of, laws
from mnc.mncore_backend.pricing.tiling import tile_crossing

Measured = tuple[Sample, Resources]
TURNS = (
    "relayout", "tiling", "relayout", "joining", "relayout", "tiling", "relayout", "reshaping", "reduction", "arrival",
    "store",
)  # fmt: skip
_SAMPLES = {"slicing": "joining"}
"""Kinds of laws whose samples are of another kind."""
_RECORDED = {"relayout", "tiling", "reduction", "arrival"}
"""Kinds of which models are asked for samples, too."""
LIMIT = 3.0
"""Seconds after which planning one sample is given up."""
STRENGTHS = np.logspace(-2, 3, 16)
FOLDS = 10
LEAST = 12
"""Samples that a law takes at least."""


class _TooLong(Exception):
    pass


def measure(seconds: float, seed: int, kinds: Collection[str] = KINDS) -> Iterator[Measured]:
    """Random samples and those of models in turn, as many as the time allows."""
    rng = random.Random(seed)
    turns = [kind for kind in TURNS if kind in kinds]
    pools = {
        kind: {model: rng.sample(own, len(own)) for model, own in models.items() if own}
        for kind, models in (recorded().items() if _RECORDED.intersection(kinds) else ())
    }
    drawn = {kind: random_samples(kind, seed) for kind in KINDS}
    signal.signal(signal.SIGALRM, _give_up)
    begin = time.monotonic()
    number = 0
    while time.monotonic() - begin < seconds:
        kind = turns[number // 2 % len(turns)]
        models = pools.get(kind, {})
        pool = models[rng.choice(list(models))] if number % 2 and models else []
        sample = pool.pop() if pool else next(drawn[kind])
        number += 1
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        try:
            yield sample, measured(sample)
        except _TooLong:
            continue
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _give_up(*_: object) -> None:
    raise _TooLong


def crossing_of(sample: Sample) -> Crossing:
    """The features of a movement on the chip."""
    if sample.kind == "tiling":
        return tile_crossing(*sample.tiled)
    assert sample.target is not None
    if sample.kind == "reshaping":
        return reshape_crossing(sample.source, sample.target)
    if sample.kind == "joining":
        assert sample.box is not None
        found = join_crossing(sample.source, sample.target, sample.box)
        assert found is not None
        return found
    return crossing(facts(sample.source), facts(sample.target))


def law_of(sample: Sample) -> str:
    """The kind of the law that prices a sample."""
    if sample.kind != "joining":
        return sample.kind
    assert sample.target is not None
    assert sample.box is not None
    return "slicing" if fills(sample.source, sample.target, sample.box) else "joining"


def ridge(features: NDArray[np.float64], wanted: NDArray[np.float64], strength: float) -> NDArray[np.float64]:
    """Exponents that minimise the squared error; that of the first feature, which is always 1, is as large as it must
    be, the others are kept small."""
    middle, wide = features[:, 1:].mean(axis=0), features[:, 1:].std(axis=0)
    wide = np.where(wide > 0, wide, 1.0)
    centred = (features[:, 1:] - middle) / wide
    square = centred.T @ centred + strength * np.eye(centred.shape[1])
    own = np.linalg.solve(square, centred.T @ (wanted - wanted.mean())) / wide
    return np.insert(own, 0, wanted.mean() - middle @ own)


def law(samples: Sequence[Measured], kind: str) -> dict[str, Any]:
    """Exponents by feature, and shares of the units."""
    features = np.array([crossing_of(sample).features for sample, _ in samples], float)
    wanted = np.log2([max(1.0, truth.total) for _, truth in samples])
    folds = np.arange(len(samples)) % FOLDS

    def error(strength: float) -> float:
        found = np.empty_like(wanted)
        for fold in range(FOLDS):
            fit = ridge(features[folds != fold], wanted[folds != fold], strength)
            found[folds == fold] = features[folds == fold] @ fit
        return float(((found - wanted) ** 2).mean())

    exponents = ridge(features, wanted, min(STRENGTHS, key=error))
    shares = np.array([[getattr(truth, unit) / truth.total for unit in UNITS] for _, truth in samples if truth.total])
    return {
        "samples": len(samples),
        "exponents": {name: round(float(own), 4) for name, own in zip(FEATURES_OF[kind], exponents, strict=True)},
        "shares": {unit: round(float(own), 4) for unit, own in zip(UNITS, shares.mean(axis=0), strict=True)},
    }


def errors(samples: Iterable[Measured]) -> dict[str, float]:
    """The factor of the root mean square of logarithms of ratios, the mean factor, the share within a factor of two."""
    ratios = [sample.price().total / truth.total for sample, truth in samples if truth.total]
    logs = np.log(np.maximum(ratios, 1e-3))
    return {
        "samples": len(logs),
        "rms": round(float(np.exp(np.sqrt((logs**2).mean()))), 3),
        "mean": round(float(np.exp(logs.mean())), 3),
        "within 2": round(float((np.abs(logs) < np.log(2)).mean()), 3),
    }


def fit(samples: Sequence[Measured], kinds: Collection[str] = KINDS) -> dict[str, Any]:
    """The coefficients of these kinds."""
    found = {}
    for kind in FEATURES_OF:
        if _SAMPLES.get(kind, kind) not in kinds:
            continue
        priced = [pair for pair in samples if law_of(pair[0]) == kind]
        own = [(sample, truth) for sample, truth in priced if not crossing_of(sample).is_copy]
        numbers = [class_of(crossing_of(sample)) for sample, _ in own]
        found[kind] = {name: law(_members(own, numbers, number), kind) for number, name in enumerate(CLASSES)}
    return found


def _members(samples: Sequence[Measured], numbers: Sequence[int], number: int) -> list[Measured]:
    """Samples of a class; where they are too few, with those of the neighbouring ones."""
    for reach in range(len(CLASSES)):
        found = [pair for pair, own in zip(samples, numbers, strict=True) if abs(own - number) <= reach]
        if len(found) >= LEAST:
            break
    return found


def read(path: Path) -> list[Measured]:
    """Samples that were measured before."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    pairs = [json.loads(line) for line in lines]
    return [(Sample.from_json(sample), Resources(*truth)) for sample, truth in pairs]


@click.command()
@click.option("--seconds", default=1500.0, show_default=True, help="Time for which samples are measured.")
@click.option("--seed", default=1, show_default=True)
@click.option("--samples", "path", type=click.Path(path_type=Path), help="What was measured, to be added to.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Fit no others.")
def main(seconds: float, seed: int, path: Path | None, kinds: Sequence[str]) -> None:
    """Measure, fit, write, and say how far the prices are off."""
    kinds = kinds or tuple(KINDS)
    old = json.loads(FITTED.read_text(encoding="utf-8"))
    known = [] if path is None else read(path)
    for sample, truth in measure(seconds, seed, kinds) if seconds else ():
        known.append((sample, truth))
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([sample.to_json(), [getattr(truth, unit) for unit in UNITS]]) + "\n")
    values = {"laws": {**old["laws"], **fit(known, kinds)}}
    _write(values)
    found = {kind: errors(pair for pair in known if pair[0].kind == kind) for kind in kinds}
    _write({"errors": {**old["errors"], **found}, **values})
    for kind, own in found.items():
        print(kind, own)


def _write(values: dict[str, Any]) -> None:
    """A new table, from which prices are taken from now on."""
    FITTED.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    laws.cache_clear()
    relayout.cache_clear()


if __name__ == "__main__":
    main()
