"""How large what a model asks for may be: sizes are estimated before anything is made.

A few bytes of a model can ask for any number of elements. What cannot lie in DRAM is refused with its node, and so is a
value of a constant that would take long to compute, or would not fit the memory of this computer.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

import onnx

from mnc.core.diagnostics import CompileError
from mnc.dialects.graph.shapes import text
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target import WORD_BYTES, chip


def _largest_tensor() -> int:
    """Elements: DRAM holds one in each word of 32 bits."""
    return chip().memories[Memory.DRAM].total_bytes // WORD_BYTES


LARGEST_CONSTANT = 1 << 26
"""Elements of a constant that the importer makes for a node: at most 512 MiB."""
LARGEST_VALUE = 1 << 27
"""Elements of a value that is computed when importing: at most 1 GiB, and more than any layer of VGG has."""
MOST_WORK = 1 << 34
"""Multiplications of a constant product: some seconds."""
MOST_NODES = 100_000
"""Nodes that the functions of a model may become."""
MOST_UNROLLED = 20_000
"""Nodes that loops may become: the condition of every iteration is evaluated."""
_HINT = "make it smaller"


def check_tensor_size(shape: Sequence[int], what: str, file_name: str, node: onnx.NodeProto | None = None) -> None:
    """Raise CompileError for a tensor that DRAM does not hold; `what` names it."""
    count = math.prod(shape)
    largest = _largest_tensor()
    if count > largest:
        message = f"{what} of {text(shape)} has {count} elements, and DRAM holds {largest}"
        raise _error(message, file_name, node)


def check_constant_size(count: int, what: str, file_name: str, node: onnx.NodeProto, most: int) -> None:
    """Raise CompileError for a constant of more than `most` elements; `what` names it."""
    if count > most:
        message = f"{what} has {count} elements, and constants of at most {most} are computed"
        raise _error(message, file_name, node, "make it smaller, or an initializer")


def check_work(node: onnx.NodeProto, shapes: Mapping[str, Sequence[int]], results: Iterable[int], name: str) -> None:
    """Raise CompileError for a product of constants, of operands of `shapes`, that takes too long; `results` are the
    numbers of elements that it has."""
    first = shapes.get(node.input[0], ()) if node.input else ()
    depth = {"MatMul": first[-1:], "Gemm": first}.get(node.op_type)
    if node.op_type in ("Conv", "ConvTranspose") and len(node.input) > 1:
        depth = shapes.get(node.input[1], ())[1:]
    if depth and (work := max(results, default=0) * max(depth)) > MOST_WORK:
        raise _error(f"its constant product has {work} multiplications, {MOST_WORK} are computed", name, node)


def check_node_count(count: int, what: str, file_name: str, node: onnx.NodeProto | None = None) -> None:
    """Raise CompileError if `what`, a loop if it is a node, becomes too many nodes."""
    most = MOST_NODES if node is None else MOST_UNROLLED
    if count > most:
        message = f"{what} becomes more than {most} nodes"
        raise _error(message, file_name, node, "keep loops and nested functions shorter")


def _error(message: str, file_name: str, node: onnx.NodeProto | None, hint: str = _HINT) -> CompileError:
    name, op_type = (node.name or next(iter(node.output), None), node.op_type) if node else (None, None)
    return CompileError(message, name, op_type, hint, file_name)


def inlined_nodes(model: onnx.ModelProto, file_name: str) -> int:
    """How many nodes the model has when the calls of its functions are replaced; functions may call others.

    Raises:
        CompileError: a function calls itself.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    counts: dict[tuple[str, str, str], int] = {}
    stack = list(functions)
    begun: set[tuple[str, str, str]] = set()
    while stack:
        key = stack[-1]
        called = [entry for entry in _calls(functions[key].node) if entry in functions]
        missing = [entry for entry in called if entry not in counts]
        if key in counts or not missing:
            counts.setdefault(key, len(list(every_node(functions[key].node))) + sum(counts[entry] for entry in called))
            stack.pop()
            continue
        if key in begun:
            raise CompileError(f"function '{key[1]}' calls itself", location=file_name, hint="unroll it")
        begun.add(key)
        stack.extend(missing)
    calls = list(_calls(model.graph.node))
    return len(calls) + sum(counts.get(entry, 0) for entry in calls)


def every_node(nodes: Iterable[onnx.NodeProto]) -> Iterable[onnx.NodeProto]:
    """Nodes and those of their graphs."""
    waiting = [nodes]
    while waiting:
        for node in waiting.pop():
            yield node
            for attribute in node.attribute:
                waiting.extend(graph.node for graph in (attribute.g, *attribute.graphs) if graph.node)


def _calls(nodes: Iterable[onnx.NodeProto]) -> Iterable[tuple[str, str, str]]:
    return ((node.domain, node.op_type, node.overload) for node in every_node(nodes))
