"""Unit tests out of a model: one for every distinct node, with the data that it sees when the whole model runs."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from mnc.case_folders import MODEL_NAMES, Case, write_case
from mnc.core.diagnostics import CompileError
from mnc.model_values import ModelValues, needed

_LONGEST_NAME = 100


def _value_info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def _case(
    name: str, run: ModelValues, nodes: list[onnx.NodeProto], outputs: list[str], sources: set[str] | None
) -> Case:
    """A test of `nodes`: what they read from outside is an input, or an initializer where it is static.

    Args:
        sources: names that may be inputs; everything else from outside is an initializer. None: what is not static.
    """
    made = {output for node in nodes for output in node.output}
    reads = [name for name in dict.fromkeys(n for node in nodes for n in needed(node)) if name not in made]
    is_input = (lambda n: n not in run.static) if sources is None else (lambda n: n in sources)
    inputs = {n: run.values[n] for n in reads if is_input(n)}
    constants = [onnx.numpy_helper.from_array(run.values[n], n) for n in reads if not is_input(n)]
    expected = {n: run.values[n] for n in outputs}
    graph = helper.make_graph(
        nodes, re.sub(r"\W+", "_", name), [_value_info(n, a) for n, a in inputs.items()],
        [_value_info(n, a) for n, a in expected.items()], constants,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=run.model.opset_import, ir_version=run.model.ir_version)
    return Case(name, model, inputs, expected)


def node_case(run: ModelValues, node: onnx.NodeProto, name: str | None = None) -> Case:
    """A test of one node alone, fed what the reference computed."""
    outputs = [output for output in node.output if output]
    return _case(name or node_test_name(run, node), run, [node], outputs, None)


def prefix_case(run: ModelValues, index: int, name: str | None = None) -> Case:
    """A test of everything that the node at position `index` depends on, from the inputs of the model on."""
    target = run.model.graph.node[index]
    wanted, nodes = set(target.output) - {""}, []
    for node in reversed(run.model.graph.node[: index + 1]):
        if wanted & set(node.output):
            nodes.insert(0, node)
            wanted.update(needed(node))
    outputs = [output for output in target.output if output]
    label = name or f"upto_{index:03d}_{_clean(target.name or target.op_type)}"
    return _case(label, run, nodes, outputs, set(run.inputs))


def node_key(run: ModelValues, node: onnx.NodeProto) -> tuple[object, ...]:
    """Equal for nodes that a compiler cannot tell apart but by the values of their data.

    Operator, attributes, and of every operand whether it is static, its type and shape; of static integers, which may
    be shapes, the values.
    """
    attributes = sorted((a.name, a.SerializeToString(deterministic=True)) for a in node.attribute)
    operands = []
    for name in node.input:
        array = run.values[name] if name else None
        if array is None:
            operands.append(None)
            continue
        static = name in run.static
        operands.append((str(array.dtype), array.shape, static, array.tobytes() if _is_structure(run, name) else b""))
    extra = tuple((n, run.values[n].shape) for n in needed(node) if n not in node.input)
    outputs = tuple(bool(output) for output in node.output)
    return (node.domain, node.op_type, tuple(attributes), tuple(operands), extra, outputs)


def _is_structure(run: ModelValues, name: str) -> bool:
    return name in run.static and run.values[name].dtype.kind in "iub"


def _clean(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "_", text).strip("_.") or "node"


def node_test_name(run: ModelValues, node: onnx.NodeProto) -> str:
    """Such as ``Gemm_256x784_16x784_transB``: operator, shapes of data, attributes that are not the default."""
    parts = [f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type]
    for name in node.input:
        if name and not _is_structure(run, name):
            array = run.values[name]
            shape = "x".join(map(str, array.shape)) or "scalar"
            parts.append(shape if array.dtype == np.float32 else f"{shape}-{array.dtype.name}")
    parts += _attribute_texts(run.model, node)
    text = _clean("_".join(parts))
    if len(text) > _LONGEST_NAME:
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        text = f"{text[: _LONGEST_NAME - 9]}_{digest}"
    return text


def _attribute_texts(model: onnx.ModelProto, node: onnx.NodeProto) -> list[str]:
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)
    schema = onnx.defs.get_schema(node.op_type, opset, "") if onnx.defs.has(node.op_type, opset, "") else None
    texts = []
    for attribute in sorted(node.attribute, key=lambda a: a.name):
        value = helper.get_attribute_value(attribute)
        known = schema.attributes.get(attribute.name) if schema else None
        default = helper.get_attribute_value(known.default_value) if known and known.default_value.name else None
        if value == default or attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.TENSOR):
            continue
        is_switch = attribute.type == onnx.AttributeProto.INT and value == 1 and default == 0
        texts.append(attribute.name if is_switch else f"{attribute.name}{_short(value)}")
    return texts


def _short(value: object) -> str:
    if isinstance(value, bytes):
        return f"-{value.decode(errors='replace')}"
    if isinstance(value, list | tuple) or (hasattr(value, "__iter__") and not isinstance(value, str)):
        items: Iterable[object] = value  # pyright: ignore[reportAssignmentType]
        return "x".join(_short(item) for item in items)
    return f"{value:g}" if isinstance(value, float) else str(value)


def distinct_cases(run: ModelValues) -> dict[str, Case]:
    """One test per distinct node, by name, in topological order."""
    seen: set[tuple[object, ...]] = set()
    cases: dict[str, Case] = {}
    for _, node in run.nodes():
        key = node_key(run, node)
        if key in seen:
            continue
        seen.add(key)
        base = name = node_test_name(run, node)
        count = 2
        while name in cases:
            name, count = f"{base}_{count}", count + 1
        cases[name] = node_case(run, node, name)
    return cases


def write_unit_tests(run: ModelValues, directory: Path, cumulative: bool = False) -> list[Path]:
    """Write the folders of all tests; with `cumulative` the part of the model up to each node instead of the node.

    Raises:
        CompileError: there is nothing to test, or the directory cannot be written.
    """
    cases: Mapping[str, Case]
    if cumulative:
        prefixes = [prefix_case(run, index) for index, _ in run.nodes()]
        cases = {case.name: case for case in prefixes}
    else:
        cases = distinct_cases(run)
    if not cases:
        raise CompileError("the model computes nothing from its inputs", hint="every value in it is a constant")
    file_name = MODEL_NAMES[1] if cumulative else MODEL_NAMES[0]
    return [write_case(directory, case, file_name) for case in cases.values()]
