"""The same training step on the CPU through the JIT and through C++."""

import shutil

import numpy as np
import pytest

from mnc.options import Options
from mnc.training.backends import compile_program
from mnc.training.models import perceptron
from mnc.training.step import training_step


@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="needs a C++ compiler")
def test_cpp_and_cpu_take_the_same_step() -> None:
    step = training_step(perceptron([12, 8, 3]), batch=5, learning_rate=0.1)
    rng = np.random.default_rng(0)
    inputs = {
        **step.initial,
        step.forward.data: rng.standard_normal((5, 12)).astype(np.float32),
        step.labels: rng.integers(0, 3, 5).astype(np.int32),
    }
    cpu, cpp = (compile_program(step.module(), backend, Options())(inputs) for backend in ("cpu", "cpp"))
    assert set(cpu) == set(cpp)
    for name, value in cpu.items():
        np.testing.assert_allclose(cpp[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
