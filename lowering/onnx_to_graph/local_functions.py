"""Calls of the functions of a model are replaced by their bodies.

The inliner of ONNX does it, but for two things: attributes that a call leaves out keep the default that the function
declares (``FunctionProto.attribute_proto``, https://onnx.ai/onnx/repo-docs/IR.html#functions), and a function may be
written for another version of an operator set, as long as its operators are the same in both.
"""

from collections.abc import Iterable, Mapping

import onnx
import onnx.inliner

from mnc.lowering.onnx_to_graph.runtime_operators import with_runtime_bodies
from mnc.lowering.onnx_to_graph.size_limits import every_node

_Key = tuple[str, str, str]
_STANDARD = ("", "ai.onnx")


def without_functions(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with calls of its own functions, and operators of ONNX Runtime, replaced; the model itself if it has
    none, otherwise it is not changed. The checker of ONNX refuses functions whose operators differ from those of the
    model.
    """
    model = with_runtime_bodies(model)
    if not model.functions:
        return model
    full = onnx.ModelProto()
    full.CopyFrom(model)
    defaults = {_key_of(f): {a.name: a for a in f.attribute_proto} for f in full.functions if f.attribute_proto}
    for nodes in (full.graph.node, *(function.node for function in full.functions)):
        _write_defaults(nodes, defaults)
    versions = {entry.domain: entry.version for entry in full.opset_import}
    for function in full.functions:
        _take_versions(function, versions)
    return onnx.inliner.inline_local_functions(full)


def _key_of(function: onnx.FunctionProto) -> _Key:
    return function.domain, function.name, function.overload


def _write_defaults(
    nodes: Iterable[onnx.NodeProto], defaults: Mapping[_Key, Mapping[str, onnx.AttributeProto]]
) -> None:
    """Give calls the attributes that they leave out."""
    for node in every_node(nodes):
        declared = defaults.get((node.domain, node.op_type, node.overload), {})
        given = {attribute.name for attribute in node.attribute}
        node.attribute.extend(default for name, default in declared.items() if name not in given)


def _take_versions(function: onnx.FunctionProto, versions: Mapping[str, int]) -> None:
    """Declare the versions of the model's operator sets for a function whose operators are the same in them."""
    for entry in function.opset_import:
        wanted = versions.get(entry.domain, entry.version)
        used = {node.op_type for node in every_node(function.node) if _domain(node.domain) == _domain(entry.domain)}
        if wanted != entry.version and all(_is_same(name, entry.domain, entry.version, wanted) for name in used):
            entry.version = wanted


def _domain(name: str) -> str:
    return "" if name in _STANDARD else name


def _is_same(operator: str, domain: str, one: int, other: int) -> bool:
    """Whether an operator means the same in two versions of its set."""
    known = [
        onnx.defs.get_schema(operator, version, _domain(domain)).since_version
        for version in (one, other)
        if onnx.defs.has(operator, version, _domain(domain))
    ]
    return len(known) == 2 and known[0] == known[1]
