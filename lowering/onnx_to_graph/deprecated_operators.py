"""Operators that ONNX has withdrawn: its checker refuses them, though models have them and it is known what they mean.

`GroupNormalization` of the operator sets 18 to 20 has parameters of groups, and those of channels replaced it;
`Upsample` and `Scatter` got other names.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

import onnx

from mnc.lowering.onnx_to_graph.size_limits import every_node

_UNCHECKED = "mnc.deprecated"
"""A domain of which the checker knows no operators."""


@contextmanager
def deprecated_set_aside(model: onnx.ModelProto) -> Iterator[None]:
    """Inside, deprecated operators are of a domain without definitions, so that all else can be checked. They are
    checked by their definition that still counts.

    Raises:
        onnx.checker.ValidationError: a deprecated operator has not the attributes and operands that it needs.
    """
    opsets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in model.opset_import}
    found = [node for node in every_node(model.graph.node) if _counted_version(node, opsets)]
    if not found:
        yield
        return
    for node in found:
        _check_node(node, model.ir_version, opsets)
    domains = [node.domain for node in found]
    for node in found:
        node.domain = _UNCHECKED
    model.opset_import.add(domain=_UNCHECKED, version=1)
    try:
        yield
    finally:
        del model.opset_import[-1]
        for node, domain in zip(found, domains, strict=True):
            node.domain = domain


def _counted_version(node: onnx.NodeProto, opsets: Mapping[str, int]) -> int:
    """Version of the definition that still counts of a deprecated operator; 0 of all others."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = opsets.get(domain, 0)
    if not onnx.defs.has(node.op_type, version, domain):
        return 0
    return _in_force(node.op_type, domain) if onnx.defs.get_schema(node.op_type, version, domain).deprecated else 0


@cache
def _in_force(op_type: str, domain: str) -> int:
    schemas = onnx.defs.get_all_schemas_with_history()
    own = [schema for schema in schemas if (schema.name, schema.domain) == (op_type, domain)]
    return max((schema.since_version for schema in own if not schema.deprecated), default=0)


def _check_node(node: onnx.NodeProto, ir_version: int, opsets: Mapping[str, int]) -> None:
    context = onnx.checker.C.CheckerContext()
    context.ir_version = ir_version
    context.opset_imports = {**opsets, node.domain: _counted_version(node, opsets)}
    onnx.checker.check_node(node, context)
