"""Attributes that an operator does not have, and those that it has unsaid."""

import warnings

import onnx

STANDARD_DOMAINS = ("", "ai.onnx")
_NEWEST = onnx.defs.onnx_opset_version()
"""At least the version of every other domain of ONNX: its operators are counted by themselves, from 1 on."""

_MISTAKEN = {"STFT": {"onesided": 1}}
"""Attributes whose default in ONNX's shape inference is not the one of the operator."""


def unknown_attributes(node: onnx.NodeProto, opset: int) -> list[onnx.AttributeProto]:
    """Attributes that the operator's schema does not have; none of an operator without schema."""
    domain, version = ("", opset) if node.domain in STANDARD_DOMAINS else (node.domain, _NEWEST)
    if not onnx.defs.has(node.op_type, version, domain):
        return []
    known = onnx.defs.get_schema(node.op_type, version, domain).attributes
    return [attribute for attribute in node.attribute if attribute.name not in known]


def drop_unknown_attributes(model: onnx.ModelProto, opset: int, file_name: str | None = None) -> None:
    """Remove node attributes that the operator's schema does not have, with a warning each if `file_name` is given.
    Defaults that the inference of ONNX takes for others are written out."""
    for node in model.graph.node:
        for name, value in _MISTAKEN.get(node.op_type, {}).items():
            if node.domain in STANDARD_DOMAINS and all(attribute.name != name for attribute in node.attribute):
                node.attribute.append(onnx.helper.make_attribute(name, value))
        for attribute in unknown_attributes(node, opset):
            if file_name is not None:
                where = f"{file_name}: node '{node.name or node.op_type}'"
                warnings.warn(f"{where}: attribute '{attribute.name}' is unknown and ignored", stacklevel=2)
            node.attribute.remove(attribute)
