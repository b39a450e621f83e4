"""Random models: compiled programs run in strict mode on random inputs and agree with the reference."""

import pytest
from onnx import checker

import mnc

from .random_models import failure_of, random_model

READS_WHAT_NOBODY_WROTE = "read but was never written"


FOUND = [74]
"""Seeds that failed once: two transposed constants in one product, which two patterns turned to and fro."""


@pytest.mark.parametrize("seed", [*range(36), *FOUND])
def test_a_random_model(seed: int) -> None:
    failure = failure_of(seed, mnc.Options(prefer=()))
    if failure is not None and READS_WHAT_NOBODY_WROTE in failure:
        pytest.xfail("idle lanes read words that nobody wrote")
    assert failure is None


def test_models_are_valid_and_differ() -> None:
    models = [random_model(seed) for seed in range(200)]
    for model in models:
        checker.check_model(model, full_check=True)
    assert len({node.op_type for model in models for node in model.graph.node}) > 50
