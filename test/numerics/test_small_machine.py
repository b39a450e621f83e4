"""Nothing is tied to the numbers of MN-Core 2: models compile for smaller machines, run there in strict mode, and agree
with the reference within their bounds.

Strict mode is also what judges memory planning: an address outside a memory, a word that nobody wrote and a transfer
that nobody waited for are errors. The sequential form of every program leaves the same bits (`conftest.py`).
"""

import hypothesis.strategies as st
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from onnx import parser

import mnc
from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.program import LOCAL_MEMORY
from mnc.mncore_backend.target import MN_CORE_2, SMALL, cached_per_machine, chip, named, use
from mnc.training.models import perceptron as small_classifier
from mnc.training.step import training_step

from . import test_perceptron
from .random_models import failure_of, failure_of_model, random_model

MACHINES = ["small", "small,groups=2,mabs_per_l1b=8", "small,groups=4,l2bs_per_group=1,l1bs_per_l2b=4"]
SHARE = 8
"""Smallest part of a local memory of the small machine that property tests leave."""


def _model(entries: str, result: str, nodes: str) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 9, opset_import: ["": 18]> g ({entries}) => ({result} y) {{ {nodes} }}')


MODELS = {
    "element-wise": ("float[23,70] x, float[70] z", "float[23,70]", "a = Mul(x, z)\n b = Tanh(a)\n y = Add(b, x)"),
    "sum": ("float[37,29] x", "float[37,1]", "a = Constant<value_ints=[1]>()\n y = ReduceSum(x, a)"),
    "maximum over all": ("float[11,300] x", "float[1,1]", "y = ReduceMax(x)"),
    "product": ("float[61,47] x, float[47,33] z", "float[61,33]", "y = MatMul(x, z)"),
    "convolution": ("float[2,5,13,13] x, float[9,5,3,3] w", "float[2,9,13,13]", "y = Conv<pads=[1,1,1,1]>(x, w)"),
    "pooling": ("float[2,6,12,12] x", "float[2,6,6,6]", "y = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)"),
    "softmax": ("float[19,83] x", "float[19,83]", "y = Softmax<axis=-1>(x)"),
    "small with the last of a large one": (
        "float[300,300] x, float[17] z", "float[300,1]",
        "a = Constant<value_ints=[1]>()\n b = ReduceMean(x, a)\n c = ReduceSum<keepdims=0>(z)\n y = Add(b, c)",
    ),
    "transposition": ("float[31,5,18] x", "float[18,31,5]", "y = Transpose<perm=[2,0,1]>(x)"),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, machine: str) -> None:
    assert failure_of_model(_model(*MODELS[name]), 1, mnc.Options(machine=machine)) is None


@pytest.mark.parametrize("machine", MACHINES)
def test_a_perceptron(machine: str) -> None:
    test_perceptron.check([97, 31, 10], 53, 1, "single", True, machine)


@pytest.mark.parametrize("seed", range(12))
def test_a_random_model(seed: int) -> None:
    assert failure_of(seed, mnc.Options(prefer=(), machine="small")) is None


def test_a_training_step() -> None:
    """The step of the small machine and that of MN-Core 2 differ by roundings only: sums are added in another order."""
    step = training_step(small_classifier([17, 9, 5]), batch=6)
    programs = [step.compile(mnc.Options(precision="single", machine=machine)) for machine in ("small", "mn-core-2")]
    inputs = programs[1].random_inputs(3)
    inputs |= {t.name: np.arange(t.shape[0], dtype=np.int32) % 5 for t in programs[1].inputs if t.dtype == "int32"}
    small, large = (program.run(inputs) for program in programs)
    assert small.keys() == large.keys() and small
    for name in small:
        np.testing.assert_allclose(small[name], large[name], rtol=2e-5, atol=2e-6)


@settings(max_examples=12)
@given(st.integers(0, 400), *(st.sampled_from([1, 2, 4, SHARE]) for _ in range(2)))
def test_memory_planning(seed: int, less_of_lm0: int, less_of_lm1: int) -> None:
    """Random graphs in random small capacities: the result is right, or the model is refused politely."""
    sizes = [SMALL.sizes[memory] // less for memory, less in zip(LOCAL_MEMORY, (less_of_lm0, less_of_lm1), strict=True)]
    machine = f"small,LM0={sizes[0]},LM1={sizes[1]}"
    failure = failure_of(seed, mnc.Options(prefer=(), machine=machine))
    assert failure is None or failure.startswith("refused: "), (seed, machine, failure)


def test_a_memory_of_another_size_is_one_number() -> None:
    """Half of both local memories: the program stays in the lower half, and its results are those of the whole."""
    model = _model(*MODELS["product"])
    program = mnc.compile(model, {"machine": "mn-core-2,LM0=2048,LM1=2048"})
    inputs = program.random_inputs(1)
    whole = mnc.compile(model).run(inputs)["y"]
    assert np.allclose(program.run(inputs)["y"], whole, rtol=1e-4, atol=1e-4)
    half = named(program.machine)
    assert {half.memories[memory].longs for memory in LOCAL_MEMORY} == {1024}


def test_passes_run_for_the_machine_of_the_module() -> None:
    """Also where nobody says it but the module: a text of passes, as `mnc-opt` takes it."""
    model, passes = _model(*MODELS["sum"]), str(mnc.default_pipeline())
    programs = [mnc.compile(model, {"machine": machine}, pipeline=passes) for machine in ("small", "mn-core-2")]
    assert programs[0].machine == "small" and programs[0].text != programs[1].text
    inputs = programs[0].random_inputs(1)
    small, large = (program.run(inputs)["y"] for program in programs)
    np.testing.assert_allclose(small, large, rtol=1e-4, atol=1e-4)


def test_a_program_runs_on_its_machine_only() -> None:
    program = mnc.compile(_model(*MODELS["sum"]), {"machine": "small"})
    assert program.machine == "small"
    with pytest.raises(CompileError, match="is for the machine small"):
        program.run_on(Machine(), program.text, program.random_inputs(1))


@pytest.mark.parametrize(
    ("text", "message"),
    [("tiny", "no machine 'tiny'"), ("small,LM0=1000", "power of two"), ("small,LM7=8", "no number 'LM7'"),
     ("small,groups=8", "from 1 to 4"), ("small,LM0", "is no number"), (7, "the machine is")],
)  # fmt: skip
def test_a_machine_that_does_not_exist_is_refused(text: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        mnc.Options(machine=text)


def test_caches_are_kept_apart() -> None:
    calls = []

    @cached_per_machine()
    def counted(number: int) -> int:
        calls.append(number)
        return number * chip().l2bs

    assert [counted(3), counted(3)] == [3 * MN_CORE_2.l2bs] * 2
    with use(SMALL):
        assert [counted(3), counted(3)] == [3 * SMALL.l2bs] * 2
    assert counted(3) == 3 * MN_CORE_2.l2bs and len(calls) == 2
    assert named("small") is SMALL and named("small,LM0=64") is named("small,LM0=64")


def test_random_models_have_something_to_place() -> None:
    assert len({len(random_model(seed).graph.node) for seed in range(50)}) > 3
