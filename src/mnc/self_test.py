"""What is installed here, and a small model through everything: for people whose installation does not work."""

import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mnc.core.diagnostics import CompileError
from mnc.version import REQUIRED, version_of, versions

OPTIONAL = {
    "torch": "training and inference graphs from PyTorch: pip install 'mnc[torch]'",
    "scikit-learn": "digits of mnc demo and mnc train: pip install 'mnc[demo]'",
    "matplotlib": "curves of mnc train: pip install 'mnc[train]'",
    "onnxruntime": "a second reference for mnc check: pip install 'mnc[onnxruntime]'",
    "perfetto": "traces of mnc compile --trace and mnc run --trace: pip install 'mnc[trace]'",
    "ai-edge-model-explorer": "mnc explore: pip install ai-edge-model-explorer model-explorer-onnx",
}
"""Distribution -> what it is for."""


@dataclass
class Findings:
    """Versions, optional parts in words, and tests with name, result, seconds and a line of text."""

    versions: dict[str, str]
    parts: dict[str, str]
    tests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every test passed."""
        return all(test["passed"] for test in self.tests)


def examine() -> Findings:
    """Look at what is installed and run the tests; what fails is told, not raised."""
    found = Findings({"python": platform.python_version(), **versions(("mnc", *REQUIRED))}, _parts())
    for name, test in (("compile", _compile), ("emulate", _emulate)):
        start = time.perf_counter()
        try:
            passed, text = True, test()
        except Exception as error:  # whatever a broken installation raises
            passed, text = False, f"{type(error).__name__}: {error}"
        found.tests.append(
            {"name": name, "passed": passed, "seconds": time.perf_counter() - start, "text": text.splitlines()[0]}
        )
    return found


def _parts() -> dict[str, str]:
    parts = {name: version_of(name) or f"not installed ({use})" for name, use in OPTIONAL.items()}
    parts["c++ compiler"] = _told(_compiler)
    parts["cache"] = _told(_cache)
    parts["processors"] = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    parts["platform"] = f"{platform.system()} {platform.machine()}, {sys.executable}"
    return parts


def _told(part: Callable[[], str]) -> str:
    try:
        return part()
    except CompileError as error:
        return f"none: {error.message}"


def _compiler() -> str:
    from mnc.cpp_target import find_compiler

    return str(find_compiler())


def _cache() -> str:
    from mnc.cache import settings

    return str(settings.directory() or "none: set MNC_CACHE_DIR")


def _model() -> Any:
    """A product, a bias and a relu."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    weights = np.linspace(-1, 1, 8 * 4, dtype=np.float32).reshape(8, 4)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [3, 8]), ("y", [3, 4])))
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["g"]), helper.make_node("Relu", ["g"], ["y"])]
    constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(weights[0], "b")]
    graph = helper.make_graph(nodes, "doctor", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _compile() -> str:
    from mnc.compiler import compile

    return f"{compile(_model()).lines} lines of assembly"


def _emulate() -> str:
    from mnc.compiler import compile
    from mnc.reference import compare, random_inputs

    model = _model()
    inputs = random_inputs(model, {}, 0)
    rows = compare(model, compile(model).run(inputs), inputs, "pseudo-single")
    if wrong := [row for row in rows if not row.passed]:
        raise CompileError(f"'{wrong[0].name}' is off by {wrong[0].error:.3g}, the bound is {wrong[0].bound:.3g}")
    return f"as the ONNX reference has it (off by {rows[0].error:.2g}, bound {rows[0].bound:.2g})"
