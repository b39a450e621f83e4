"""The program at some stages, as plain values."""

from collections.abc import Iterator
from typing import Any

from mnc.core.bindings import ir
from mnc.core.diagnostics import NODE_SEPARATOR, node_name
from mnc.dialects.mncore.attributes import Placed, layout_in, placement_of, shape_text
from mnc.lowering.linalg_to_spmd.layout_attributes import OPERANDS, PRECISION, RESULT

_CONSTANTS = frozenset(["arith.constant", "tensor.empty"])


def _operations(module: ir.Module) -> Iterator[Any]:
    for function in module.body.operations:
        for region in function.operation.regions:
            for block in region.blocks:
                yield from (op.operation for op in block.operations)


def nodes_of(op: Any) -> list[str]:
    """ONNX nodes whose work an operation does."""
    name = node_name(op.location)
    return name.split(NODE_SEPARATOR) if name else []


def fused_nodes(module: ir.Module) -> list[list[str]]:
    """Of every operation that does the work of several nodes, these; each group once."""
    groups = dict.fromkeys(tuple(nodes_of(op)) for op in _operations(module) if op.name not in _CONSTANTS)
    return [list(nodes) for nodes in groups if len(nodes) > 1]


def _shape(value: Any) -> str:
    type_ = value.type
    if not isinstance(type_, ir.RankedTensorType):
        return ""
    return shape_text(tuple(ir.RankedTensorType(type_).shape))


def layouts_of(module: ir.Module) -> list[dict[str, Any]]:
    """Of every operation with layouts: its nodes, what its operands are, their layouts, the result's, the precision."""
    found = []
    for op in _operations(module):
        if RESULT not in op.attributes:
            continue
        attributes = op.attributes
        texts = ["" if isinstance(own, ir.UnitAttr) else str(layout_in(own)) for own in attributes[OPERANDS]]
        operands = list(op.operands)[: len(texts)]
        entry = {
            "operation": op.name,
            "nodes": nodes_of(op),
            "operands": [
                {"of": _source(operand), "shape": _shape(operand), "layout": text}
                for operand, text in zip(operands, texts, strict=False)
            ],
            "result": str(layout_in(attributes[RESULT])),
            "shape": _shape(op.results[0]),
            "precision": ir.StringAttr(attributes[PRECISION]).value if PRECISION in attributes else "single",
        }
        found.append(entry)
    return found


def _source(value: Any) -> str:
    """Name of the input or constant that a value is, or the nodes that make it."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        attributes = owner.owner.attributes.get("arg_attrs")
        own = ir.DictAttr(ir.ArrayAttr(attributes)[value.arg_number]) if attributes is not None else {}
        return ir.StringAttr(own["onnx.name"]).value if "onnx.name" in own else f"argument {value.arg_number}"
    if "onnx.name" in owner.attributes:
        return ir.StringAttr(owner.attributes["onnx.name"]).value
    return node_name(owner.location) or owner.name


def kernels_of(module: ir.Module) -> dict[str, Any]:
    """Loop nests, matrix kernels and movements by their number, which is their place in the function: what
    ``select-instructions`` reads; and what every local buffer that it makes holds, by the name it gives."""
    kernels: list[dict[str, Any]] = []
    buffers: dict[Any, dict[str, Any]] = {}
    names = 0
    for number, op in enumerate(_operations(module)):
        if op.name in ("memref.alloc", "mncore.resident"):
            known = ir.StringAttr(op.attributes["onnx.name"]).value if "onnx.name" in op.attributes else ""
            entry = {**_tensor(op.results[0]), "name": f"b{names}", "tensor": known, "by": nodes_of(op)}
            buffers[op.results[0]] = entry
            names += 1
        elif op.name == "memref.memory_space_cast":
            names += 1
        elif op.name == "affine.for":
            kernels.append({**_kernel(number, op), "extents": list(_extents(op))})
        elif op.name.startswith("mncore.") and op.name != "mncore.constant":
            kernels.append(_kernel(number, op))
            if op.name == "mncore.dl" and op.operands[1] in buffers:
                buffers[op.operands[1]]["tensor"] = kernels[-1]["tensor"] = _source(op.operands[0])
    return {"kernels": kernels, "buffers": {entry.pop("name"): entry for entry in list(buffers.values())}}


def _kernel(number: int, op: Any) -> dict[str, Any]:
    kind = "loops" if op.name == "affine.for" else op.name.removeprefix("mncore.")
    entry: dict[str, Any] = {"number": number, "kind": kind, "nodes": nodes_of(op), "tensors": _tensors(op)}
    if "precision" in op.attributes:
        entry["precision"] = ir.StringAttr(op.attributes["precision"]).value
    return entry


def _tensors(op: Any) -> list[dict[str, str]]:
    """What a kernel reads and writes, as far as it lies in local memory."""
    if op.name != "affine.for":
        values = list(op.operands)
    else:
        values = [v for inner in _nested(op) if inner.name in ("affine.load", "affine.store") for v in inner.operands]
    memrefs = dict.fromkeys(value for value in values if isinstance(value.type, ir.MemRefType))
    return [_tensor(value) for value in memrefs]


def _nested(op: Any) -> Iterator[Any]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _nested(inner.operation)


def _extents(op: Any) -> Iterator[int]:
    """Trip counts of a nest, from the outside."""
    loop = op
    while loop is not None:
        bounds = [ir.AffineMapAttr(loop.attributes[name]) for name in ("lowerBoundMap", "upperBoundMap")]
        first, last = (int(str(b).split("-> (")[1].split(")")[0]) for b in bounds)
        step = ir.IntegerAttr(loop.attributes["step"]).value if "step" in loop.attributes else 1
        yield -(-(last - first) // step)
        body = [inner.operation for inner in loop.regions[0].blocks[0].operations]
        loop = next((inner for inner in body if inner.name == "affine.for"), None)


def _tensor(value: Any) -> dict[str, str]:
    if isinstance(value.type.memory_space, Placed):
        layout = placement_of(value.type).layout
        return {"shape": shape_text(layout.shape), "layout": str(layout)}
    return {"shape": shape_text(tuple(value.type.shape)), "layout": "", "in": "DRAM"}
