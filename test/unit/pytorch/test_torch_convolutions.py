"""The convolutions that prove exports are those of the ONNX reference."""

import importlib
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from mnc.lowering.onnx_to_graph.evaluator import evaluator

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
FASTER: Any = importlib.import_module("mnc.torch.convolutions").FASTER

CASES = {
    "plain": ("Conv", (2, 3, 7, 6), (4, 3, 3, 2), {}),
    "all": ("Conv", (2, 4, 9, 8), (6, 2, 3, 2),
            {"group": 2, "strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [1, 2]}),
    "one dimension": ("Conv", (1, 2, 9), (3, 2, 3), {"pads": [1, 0]}),
    "transposed": ("ConvTranspose", (2, 3, 4, 5), (3, 4, 3, 2), {}),
    "all transposed": ("ConvTranspose", (2, 4, 4, 5), (4, 3, 3, 2),
                       {"group": 2, "strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 2]}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_same(case: str) -> None:
    name, data, weight, attributes = CASES[case]
    rng = np.random.default_rng(0)
    outputs = weight[0] if name == "Conv" else weight[1] * attributes.get("group", 1)
    arrays = {"x": rng.standard_normal(data), "w": rng.standard_normal(weight), "b": rng.standard_normal(outputs)}
    infos = [helper.make_tensor_value_info(key, TensorProto.DOUBLE, value.shape) for key, value in arrays.items()]
    result = helper.make_tensor_value_info("y", TensorProto.DOUBLE, [None] * len(data))
    graph = helper.make_graph([helper.make_node(name, list(arrays), ["y"], **attributes)], "g", infos, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    (want,), (got,) = (evaluator(model, faster).run(None, arrays) for faster in ((), FASTER))
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
