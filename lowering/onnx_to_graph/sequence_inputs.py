"""Inputs that are sequences or optional values, as tensors: how many there are is said when compiling.

The input ``s`` becomes inputs ``s[0]``, ``s[1]``, ... and a SequenceConstruct of them, an optional value an Optional of
the tensor or of nothing. What reads them stays as it is; `sequences` resolves it.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass

import onnx

from mnc.core.diagnostics import CompileError
from mnc.core.sequences import HostSequence, Shapes, element_index, element_name
from mnc.core.spelling import shape_argument, spelled
from mnc.lowering.onnx_to_graph.graph_rewriter import renamed
from mnc.lowering.onnx_to_graph.input_shapes import OpenExtentsError, bind_input
from mnc.lowering.onnx_to_graph.size_limits import MOST_UNROLLED
from mnc.lowering.onnx_to_graph.unsupported_hints import STRINGS


@dataclass(frozen=True)
class ListType:
    """The type of a sequence of tensors, of a tensor that may be missing, or of a sequence that may be missing."""

    is_optional: bool
    is_sequence: bool
    tensor: onnx.TypeProto


def list_type(type_: onnx.TypeProto) -> ListType | None:
    """The type as one of lists; None for tensors, maps, and sequences of what is no tensor."""
    inner, kinds = type_, list[str]()
    while inner.WhichOneof("value") in ("sequence_type", "optional_type"):
        kinds.append(inner.WhichOneof("value"))
        inner = getattr(inner, kinds[-1]).elem_type
    wanted = (["sequence_type"], ["optional_type"], ["optional_type", "sequence_type"])
    if kinds not in wanted or not inner.HasField("tensor_type"):
        return None
    return ListType("optional_type" in kinds, "sequence_type" in kinds, inner)


def refuse_open(value: onnx.ValueInfoProto, file_name: str) -> None:
    """Raise CompileError for an input that is no tensor and of which nothing is said."""
    name, kind = value.name, list_type(value.type)
    if kind is None:
        raise CompileError(f"input '{name}' is not a tensor", location=file_name, hint="pass tensors one by one")
    _refuse_strings(value.name, kind, file_name)
    if kind.is_optional:
        nothing = spelled(f"--shape {name}=none", f'shapes={{"{name}": None}}')
        what = "the length of the sequence" if kind.is_sequence else "its shape"
        hint = f"give {what} with {_example(name, kind)}, or {nothing} where it has no value"
        message = f"input '{name}' is optional, and whether it has a value must be known when compiling"
        raise OpenExtentsError(message, location=file_name, hint=hint)
    hint = f"give it with {_example(name, kind)}"
    raise OpenExtentsError(f"input '{name}' is a sequence of unknown length", location=file_name, hint=hint)


def _example(name: str, kind: ListType) -> str:
    dims = kind.tensor.tensor_type.shape.dim
    shape = [dim.dim_value if dim.HasField("dim_value") else 1 for dim in dims]
    is_open = not kind.tensor.tensor_type.HasField("shape") or any(not dim.HasField("dim_value") for dim in dims)
    if not kind.is_sequence:
        return shape_argument(name, *(shape if kind.tensor.tensor_type.HasField("shape") else (1, 64)))
    if not is_open:
        return shape_argument(name, 2)
    own = tuple(shape) or (1, 64)
    options = " ".join(shape_argument(element_name(name, i), *own) for i in range(2))
    return spelled(options, f'shapes={{"{name}": [{own}, {own}]}}')


def _refuse_strings(name: str, kind: ListType, file_name: str) -> None:
    if kind.tensor.tensor_type.elem_type == onnx.TensorProto.STRING:
        message = f"input '{name}' has element type STRING, which is not supported"
        raise CompileError(message, location=file_name, hint=STRINGS)


def taken_name(name: str, element: str, file_name: str) -> CompileError:
    """The refusal of a sequence whose elements would be called as another value is."""
    message = f"the model has a sequence '{name}' and another value that is called '{element}', as its elements are"
    return CompileError(message, location=file_name, hint=f"rename '{element}' in the model")


class _Splitter:
    """What replaces the inputs: other inputs, and nodes in front of all others."""

    def __init__(self, graph: onnx.GraphProto, shapes: Shapes, file_name: str) -> None:
        self.shapes = dict(shapes)
        self.sequences: list[HostSequence] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self.other_names: dict[str, str] = {}
        self._file_name = file_name
        values = (*graph.input, *graph.output)
        self._taken = {*(value.name for value in values), *(name for node in graph.node for name in node.output)}

    def split(self, value: onnx.ValueInfoProto, kind: ListType) -> None:
        """Replace an input, if anything is said about it."""
        name = value.name
        own = {i: key for key in self.shapes if (i := element_index(key, name)) is not None}
        if name not in self.shapes and not own:
            self.inputs.append(value)
            return
        said = self.shapes.pop(name, (max(own, default=-1) + 1,))
        if said is None and kind.is_optional:
            self._refuse_elements(name, own, None)
            self.sequences.append(HostSequence(name, "input", None))
            self.nodes.append(onnx.helper.make_node("Optional", [], [name], type=value.type.optional_type.elem_type))
        elif said is None:
            raise _no_optional(name, self._file_name)
        elif kind.is_sequence:
            _refuse_strings(name, kind, self._file_name)
            self._elements(name, kind, said, own)
        else:
            _refuse_strings(name, kind, self._file_name)
            self._refuse_elements(name, own, None)
            self.inputs.append(self._tensor(name, kind, said))
            self.other_names[name] = f"{name}#optional"
            self.nodes.append(onnx.helper.make_node("Optional", [name], [self.other_names[name]]))

    def _elements(self, name: str, kind: ListType, said: tuple[int, ...], own: Mapping[int, str]) -> None:
        """The sequence `name` of the length that `said` says, with the shapes of elements in `own`."""
        if len(said) > 1:
            message = f"input '{name}' is a sequence, and has a length and no shape"
            raise CompileError(message, location=self._file_name, hint=f"give it with {_example(name, kind)}")
        length = said[0] if said else 0
        if length > MOST_UNROLLED:
            message = f"the sequence '{name}' has {length} elements, and at most {MOST_UNROLLED} are taken"
            raise CompileError(message, location=self._file_name, hint="give a shorter one, or one tensor of all")
        self._refuse_elements(name, own, length)
        names = [element_name(name, i) for i in range(length)]
        if taken := [element for element in names if element in self._taken]:
            raise taken_name(name, taken[0], self._file_name)
        self.inputs += [self._tensor(element, kind, self.shapes.pop(element, None)) for element in names]
        self.sequences.append(HostSequence(name, "input", tuple(names)))
        made = f"{name}#sequence" if kind.is_optional else name
        if names:
            self.nodes.append(onnx.helper.make_node("SequenceConstruct", names, [made]))
        else:
            dtype = kind.tensor.tensor_type.elem_type
            self.nodes.append(onnx.helper.make_node("SequenceEmpty", [], [made], dtype=dtype))
        if kind.is_optional:
            self.nodes.append(onnx.helper.make_node("Optional", [made], [name]))

    def _tensor(self, name: str, kind: ListType, shape: tuple[int, ...] | None) -> onnx.ValueInfoProto:
        """An input of the type of elements. A named extent of elements whose shapes are given is each one's own."""
        value = onnx.ValueInfoProto(name=name, type=kind.tensor)
        if shape is not None:
            bind_input(value, shape, {}, self._file_name)
        return value

    def _refuse_elements(self, name: str, own: Mapping[int, str], length: int | None) -> None:
        """Raise CompileError for the shape of an element that there is not; no length: it is no sequence."""
        if beyond := [key for i, key in own.items() if i >= (length or 0)]:
            what = "is no sequence with elements" if length is None else f"has the length {length}"
            message = f"a shape was given for '{beyond[0]}', and '{name}' {what}"
            hint = "leave it out" if length is None else "leave it out, or give another length"
            raise CompileError(message, location=self._file_name, hint=hint)


def _no_optional(name: str, file_name: str) -> CompileError:
    hint = "give its shape, or leave it out where the model says it"
    return CompileError(f"input '{name}' must have a value: it is not optional", location=file_name, hint=hint)


def split_inputs(
    graph: onnx.GraphProto, shapes: Shapes, weights: Container[str], file_name: str
) -> tuple[dict[str, tuple[int, ...]], list[HostSequence]]:
    """Replace the sequences and optional values among the inputs of `graph` of which `shapes` says something, in place;
    `weights` are initializers.

    Returns:
        The shapes of all other inputs, and which tensors the replaced ones have become.

    Raises:
        CompileError: what is said does not fit the input, or the other shapes have one without a value.
    """
    splitter = _Splitter(graph, shapes, file_name)
    for value in graph.input:
        kind = list_type(value.type) if value.name not in weights else None
        copy = onnx.ValueInfoProto()
        copy.CopyFrom(value)
        if kind is None:
            splitter.inputs.append(copy)
        else:
            splitter.split(copy, kind)
    rest: dict[str, tuple[int, ...]] = {}
    for name, shape in splitter.shapes.items():
        if shape is None:
            raise _no_optional(name, file_name)
        rest[name] = shape
    if splitter.nodes:
        _replace(graph, splitter)
    return rest, splitter.sequences


def _replace(graph: onnx.GraphProto, splitter: _Splitter) -> None:
    others = splitter.other_names
    nodes = [*splitter.nodes, *(renamed(node, others) for node in graph.node)]
    types = {value.name: value.type for value in splitter.inputs}
    for value in graph.output:
        if value.name in others:
            value.type.CopyFrom(types[value.name])
    del graph.input[:]
    graph.input.extend(splitter.inputs)
    del graph.node[:]
    graph.node.extend(nodes)
