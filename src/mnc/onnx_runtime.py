"""ONNX Runtime as the judge of results, where it is installed (``pip install 'mnc[onnxruntime]'``)."""

import importlib.util
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from mnc.lowering.onnx_to_graph.local_functions import without_functions
from mnc.lowering.onnx_to_graph.unknown_attributes import STANDARD_DOMAINS

NAME = "onnxruntime"
_OLDEST = 7
"""Operator set from which its operators do what the standard says today."""


def is_installed() -> bool:
    """Whether it can be asked."""
    return importlib.util.find_spec(NAME) is not None


def run(model: onnx.ModelProto, names: list[str], inputs: Mapping[str, np.ndarray]) -> tuple[str, list[Any]] | None:
    """Name of the judge and the values `names`; None where it is not installed, or does not run this model."""
    if not is_installed() or not _is_standard(model := without_functions(model)):
        return None
    runtime: Any = importlib.import_module(NAME)
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # what it says is not about the user's model, but about kernels that it lacks
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL  # no sums in another order
    try:
        session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        read = {entry.name for entry in session.get_inputs()}
        results = session.run(names, {name: value for name, value in inputs.items() if name in read})
    except Exception:  # it has exceptions of its own for everything, also for operators that it does not have
        return None
    return f"ONNX Runtime {runtime.__version__}", results


def _is_standard(model: onnx.ModelProto) -> bool:
    """Whether all operators are those of the standard, and none of those that it takes for something else: pooling
    with padding to the same size, where it forgets dilations and crops where strides are larger than windows, and
    products of integers, which end at the largest one there."""
    if any(node.op_type == "ReduceProd" for node in model.graph.node):
        return False
    pools = [node for node in model.graph.node if node.op_type.endswith("Pool")]
    if any(entry.name == "auto_pad" and entry.s.startswith(b"SAME") for node in pools for entry in node.attribute):
        return False
    return all(node.domain in STANDARD_DOMAINS for node in model.graph.node) and all(
        entry.version >= _OLDEST for entry in model.opset_import if entry.domain in STANDARD_DOMAINS
    )
