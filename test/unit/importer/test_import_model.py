"""What the importer promises beside the operators: names, locations, shapes, refusals."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from mnc.core.bindings import ir
from mnc.core.context import make_context
from mnc.core.diagnostics import CompileError, node_name
from mnc.lowering.onnx_to_graph import import_model
from mnc.lowering.onnx_to_graph.evaluator import evaluator
from mnc.lowering.onnx_to_graph.onnx_file import LARGE, load_model

sys.path.insert(0, str(Path(__file__).parent))
from models import dynamic_batch, one_node

X = np.zeros((2, 3), np.float32)


def test_every_operation_has_its_node_as_location() -> None:
    weight = np.ones((3, 4), np.float32)
    model = one_node("MatMul", {"x": X, "w": weight}, weights=["w"], name="fc1")
    module = import_model(model, make_context(["graph"]), file_name="net.onnx")
    names = {}

    def visit(op):
        if op.name != "builtin.module":
            assert "net.onnx" in str(op.location)
            names[op.name] = node_name(op.location)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    assert names["graph.matmul"] == "fc1"
    assert names["graph.constant"] == "w"


def test_unnamed_node_is_called_by_its_place() -> None:
    module = import_model(one_node("Relu", {"x": X}, name=""), make_context(["graph"]))
    assert '"Relu_0"' in module.operation.get_asm(enable_debug_info=True)


def test_names_of_arguments_and_results() -> None:
    text = str(import_model(one_node("Relu", {"x": X}), make_context(["graph"])))
    assert '%arg0: tensor<2x3xf32> {onnx.name = "x"}' in text
    assert '(tensor<2x3xf32> {onnx.name = "y0"})' in text


def test_shape_binds_the_same_name_everywhere() -> None:
    module = import_model(dynamic_batch(), make_context(["graph"]), {"x": (5, 4)})
    assert "tensor<5x4xf32>" in str(module)


def test_group_normalization_has_the_type_of_its_operand() -> None:
    """ONNX infers nothing for it from version 21 on, nor then for what follows."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 21]>
        g (float[1,4,3] x, float[4] s, float[4] b) => (float[1,4,3] y) {
            a = Relu(x)
            n = GroupNormalization<num_groups = 2>(a, s, b)
            m = GroupNormalization<num_groups = 4>(n, s, b)
            y = Sigmoid(m)
        }"""
    )
    module = import_model(model, make_context(["graph"]))
    (made,) = (op for op in module.body.operations[0].body.blocks[0].operations if op.name == "graph.sigmoid")
    assert str(made.operation.operands[0].type) == "tensor<1x4x3xf32>"


def test_an_open_extent_is_given_by_its_name() -> None:
    module = import_model(dynamic_batch(), make_context(["graph"]), {"batch": (7,)})
    assert "tensor<7x4xf32>" in str(module)


@pytest.mark.parametrize(
    "unread",
    [
        onnx.helper.make_tensor_value_info("u", onnx.TensorProto.FLOAT, ["n"]),
        onnx.helper.make_tensor_value_info("u", onnx.TensorProto.STRING, [2]),
        onnx.helper.make_tensor_sequence_value_info("u", onnx.TensorProto.FLOAT, None),
    ],
)
def test_inputs_that_nothing_reads_need_no_shape(unread: onnx.ValueInfoProto) -> None:
    model = dynamic_batch()
    model.graph.input.append(unread)
    assert '"u"' not in str(import_model(model, make_context(["graph"]), {"batch": (7,)}))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (None, "input 'x' has dynamic extents: batch"),
        ({"batch": (2, 3)}, "'batch' is one extent"),
        ({"batch": (2,), "x": (3, 4)}, "3 was given for a dimension of extent batch = 2"),
        ({"x": (5, 3)}, "3 was given for a dimension of extent 4"),
        ({"x": (5,)}, "input 'x' has 2 dimensions, the given shape has 1"),
        ({"z": (5, 4)}, "'z', which is no input"),
    ],
)
def test_shapes_that_do_not_fit(shapes, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        import_model(dynamic_batch(), make_context(["graph"]), shapes)
    assert caught.value.hint


@pytest.mark.parametrize("typed", [False, True])
def test_outputs_may_be_declared_without_a_shape_or_a_type(typed: bool) -> None:
    """As `helper.make_tensor_value_info(name, type, None)` does; the checker of ONNX refuses them."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2,3] x, float[2,3] z) => (float[2,3] y, bool[2,3] less) { y = Relu (x) less = Less (y, z) }"""
    )
    for value in model.graph.output:
        if typed:
            value.type.tensor_type.ClearField("shape")
        else:
            value.ClearField("type")
    before = model.SerializeToString()
    text = str(import_model(model, make_context(["graph"])))
    assert '(tensor<2x3xf32> {onnx.name = "y"}, tensor<2x3xi1> {onnx.name = "less"})' in text
    assert model.SerializeToString() == before
    model.graph.node[0].op_type = "Rely"
    with pytest.raises(CompileError, match="Rely"):
        import_model(model, make_context(["graph"]))


def test_an_input_without_a_shape_is_given_one() -> None:
    model = one_node("Relu", {"x": X})
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(CompileError, match="input 'x' has no shape"):
        import_model(model, make_context(["graph"]))
    assert "tensor<2x3xf32>" in str(import_model(model, make_context(["graph"]), {"x": (2, 3)}))


def test_files_that_are_no_models(tmp_path: Path) -> None:
    whole = one_node("MatMul", {"x": X, "w": np.ones((3, 4), np.float32)}, weights=["w"]).SerializeToString()
    contents = {"truncated": whole[: len(whole) // 2], "noise": b"hello world", "empty": b""}
    for name, data in contents.items():
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(data)
        with pytest.raises(CompileError) as caught:
            import_model(path, make_context(["graph"]))
        assert name in caught.value.render()
    with pytest.raises(CompileError, match="No such file"):
        import_model(tmp_path / "absent.onnx", make_context(["graph"]))


def test_unsupported_operator_names_the_node() -> None:
    model = one_node("Bernoulli", {"x": X}, name="draw")
    with pytest.raises(CompileError, match="'draw' \\(Bernoulli\\): operator Bernoulli is not supported") as caught:
        import_model(model, make_context(["graph"]))
    assert "random numbers" in str(caught.value.hint)


def test_operators_of_onnx_runtime_are_called_so() -> None:
    model = one_node("Relu", {"x": X})
    model.graph.node[0].op_type, model.graph.node[0].domain = "QLinearReduceMean", "com.microsoft"
    model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    with pytest.raises(CompileError, match=r"of domain 'com\.microsoft' is not supported") as caught:
        import_model(model, make_context(["graph"]))
    assert "QuantFormat.QDQ" in str(caught.value.hint)


@pytest.mark.parametrize("places", [[1, 5], [[0, 1], [1, 2]]])
def test_a_sparse_constant_has_all_its_elements(places: list[Any]) -> None:
    h = onnx.helper
    numbers = onnx.numpy_helper.from_array(np.array([5, 7], np.float32), "numbers")
    sparse = h.make_sparse_tensor(numbers, onnx.numpy_helper.from_array(np.array(places), "places"), [2, 3])
    module = import_model(one_node("Constant", {}, sparse_value=sparse), make_context(["graph"]))
    assert "dense<[[0., 5., 0.], [0., 0., 7.]]>" in str(module).replace(".000000e+00", ".")


def with_sparse_initializer(places: list[Any], shape: list[int]) -> onnx.ModelProto:
    """A sum with a sparse tensor of two elements."""
    h = onnx.helper
    arrays = np.array([5, 7], np.float32), np.array(places)
    numbers, indices = (onnx.numpy_helper.from_array(array, name) for array, name in zip(arrays, "wp", strict=True))
    values = [h.make_tensor_value_info("x", 1, [1]), h.make_tensor_value_info("y", 1, shape)]
    graph = h.make_graph([h.make_node("Add", ["x", "w"], ["y"])], "g", values[:1], values[1:])
    graph.sparse_initializer.append(h.make_sparse_tensor(numbers, indices, shape))
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("places", [[1, 5], [[0, 1], [1, 2]]])
def test_a_sparse_initializer_has_all_its_elements(places: list[Any]) -> None:
    text = str(import_model(with_sparse_initializer(places, [2, 3]), make_context(["graph"])))
    assert "dense<[[0., 5., 0.], [0., 0., 7.]]>" in text.replace(".000000e+00", ".")


@pytest.mark.parametrize(
    ("places", "shape", "words"),
    [([5, 1], [9], "sorted"), ([1, 50], [9], "out of range"), ([1, 5], [10**6, 10**6, 10**8], "filled in")],
)
def test_sparse_initializers_that_cannot_be(places: list[int], shape: list[int], words: str) -> None:
    with pytest.raises(CompileError, match=words):
        import_model(with_sparse_initializer(places, shape), make_context(["graph"]))


def test_dropout_in_training_mode_is_refused() -> None:
    inputs = {"x": X, "ratio": np.float32(0.5), "training": np.array(True)}
    with pytest.raises(CompileError, match="training mode"):
        import_model(one_node("Dropout", inputs, weights=["ratio", "training"]), make_context(["graph"]))


def large_weight() -> onnx.ModelProto:
    """A product with a weight that imports keep apart."""
    weight = np.arange(LARGE // 2, dtype=np.float32).reshape(2, -1)
    return one_node("MatMul", {"x": np.zeros((1, 2), np.float32), "w": weight}, weights=["w"])


def test_a_large_weight_is_a_constant_and_no_input() -> None:
    module = import_model(large_weight(), make_context(["graph"]))
    function = module.body.operations[0]
    assert len(function.arguments) == 1 and "graph.constant" in str(module)
    complete = load_model(large_weight()).complete().graph
    assert [tensor.raw_data for tensor in complete.initializer] == [large_weight().graph.initializer[0].raw_data]


def test_a_large_weight_of_the_wrong_size_is_refused() -> None:
    model = large_weight()
    model.graph.initializer[0].dims[1] += 1
    with pytest.raises(CompileError, match="invalid"):
        import_model(model, make_context(["graph"]))


def test_no_hint_calls_a_large_weight_an_input() -> None:
    with pytest.raises(CompileError) as caught:
        import_model(large_weight(), make_context(["graph"]), shapes={"v": (1,)})
    assert caught.value.hint == "the inputs are: x"


def test_a_large_weight_that_is_an_input_as_well_may_be_replaced() -> None:
    model = large_weight()
    model.graph.input.append(onnx.helper.make_tensor_value_info("w", 1, [2, LARGE // 4]))
    given = np.ones((2, LARGE // 4), np.float32)
    for constants in ({}, {"w": given}):
        module = import_model(model, make_context(["graph"]), constants=constants)
        assert len(module.body.operations[0].arguments) == 1


def test_unknown_attribute_is_a_warning() -> None:
    model = one_node("Relu", {"x": X})
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("colour", 3))
    with pytest.warns(UserWarning, match="attribute 'colour' is unknown and ignored"):
        import_model(model, make_context(["graph"]))


def test_unknown_attribute_of_the_training_domain_is_a_warning() -> None:
    domain, names = "ai.onnx.preview.training", ["r", "t", "x", "g", "v"]
    attributes = {"alpha": 0.9, "beta": 1.0, "norm_coefficient": 0.0, "mode": "standard", "colour": 3}
    node = onnx.helper.make_node("Momentum", names, ["x_new", "v_new"], domain=domain, **attributes)
    infos = {n: onnx.helper.make_tensor_value_info(n, 1, [2]) for n in ("x", "g", "v", "x_new", "v_new")}
    infos |= {"r": onnx.helper.make_tensor_value_info("r", 1, []), "t": onnx.helper.make_tensor_value_info("t", 7, [])}
    graph = onnx.helper.make_graph([node], "step", [infos[n] for n in names], [infos["x_new"], infos["v_new"]])
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid(domain, 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    with pytest.warns(UserWarning, match="attribute 'colour' is unknown and ignored"):
        import_model(model, make_context(["graph"]))
    node.attribute[3].s = b"sideways"
    del model.graph.node[:]
    model.graph.node.append(node)
    with pytest.raises(CompileError, match="mode 'sideways' does not exist"), pytest.warns(UserWarning):
        import_model(model, make_context(["graph"]))


def test_the_reference_ignores_unknown_attributes_too() -> None:
    model = one_node("Relu", {"x": X})
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("colour", 3))
    (result,) = evaluator(model).run(None, {"x": X})
    np.testing.assert_array_equal(result, np.maximum(X, 0))
    assert len(model.graph.node[0].attribute) == 1


def test_old_opset_is_converted() -> None:
    model = one_node("Relu", {"x": X})
    model.opset_import[0].version = 6
    assert '"graph.relu"' in str(import_model(model, make_context(["graph"])))


def test_old_opset_without_conversion_is_refused() -> None:
    model = one_node("Upsample", {"x": np.zeros((1, 1, 2, 2), np.float32)}, opset=7, scales=[1.0, 1.0, 2.0, 2.0])
    model.opset_import[0].version = 6
    with pytest.raises(CompileError, match="opset 6 is not supported"):
        import_model(model, make_context(["graph"]))


def test_softmax_before_13_counts_trailing_dimensions_as_one() -> None:
    x = np.zeros((2, 3, 4), np.float32)
    text = str(import_model(one_node("Softmax", {"x": x}, opset=11, axis=1), make_context(["graph"])))
    assert '"graph.softmax"(%0) {axis = 1 : i64} : (tensor<2x12xf32>)' in text


def test_computed_shape_is_evaluated() -> None:
    """Reshape to a shape made with Shape and Concat leaves one operation."""
    h = onnx.helper
    nodes = [
        h.make_node("Shape", ["x"], ["s"]), h.make_node("Gather", ["s", "zero"], ["batch"]),
        h.make_node("Concat", ["batch", "minus"], ["target"], axis=0), h.make_node("Reshape", ["x", "target"], ["y"]),
    ]  # fmt: skip
    numbers = {"zero": np.array([0], np.int64), "minus": np.array([-1], np.int64)}
    stored = [onnx.numpy_helper.from_array(value, name) for name, value in numbers.items()]
    values = [h.make_tensor_value_info("x", 1, [5, 2, 3]), h.make_tensor_value_info("y", 1, [5, 6])]
    graph = h.make_graph(nodes, "g", values[:1], values[1:], stored)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    module = import_model(model, make_context(["graph"]))
    operations = [op.operation.name for op in module.body.operations[0].body.blocks[0].operations]
    assert operations == ["graph.reshape", "func.return"]
