"""The test cases of ``onnx.backend.test`` and which of their inputs the compiler must know."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

from mnc.case_folders import STRUCTURAL_INPUTS
from mnc.core.sequences import shapes_of

KINDS = ("node", "pytorch-converted", "pytorch-operator", "simple")
_EXPANDED = "_expanded"

FIXED_INPUTS: dict[str, tuple[int, ...]] = {
    **STRUCTURAL_INPUTS,
    "BlackmanWindow": (0,),
    "CumProd": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "Loop": (0, 1),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "NonMaxSuppression": (2,),
}
"""Operator -> inputs that decide shapes or structure: they are given to the compiler, not at run time."""


@dataclass(frozen=True)
class Case:
    """One test: a model, and data sets of inputs and expected outputs by name."""

    name: str
    kind: str
    model: onnx.ModelProto
    data_sets: list[tuple[list[Any], list[Any]]]

    @property
    def operator(self) -> str:
        """The operator under test: of a node test its only node, else the kind of test."""
        nodes = self.model.graph.node
        if self.kind == "node" and len(nodes) >= 1:
            domain = nodes[0].domain
            return f"{domain}.{nodes[0].op_type}" if domain not in ("", "ai.onnx") else nodes[0].op_type
        return self.kind

    def inputs(self, data_set: int) -> dict[str, Any]:
        """Given values of the model's inputs by name; left-out optional inputs are missing."""
        initialized = {tensor.name for tensor in self.model.graph.initializer}
        entries = [value.name for value in self.model.graph.input if value.name not in initialized]
        return dict(zip(entries, map(_array, self.data_sets[data_set][0]), strict=False))

    def outputs(self, data_set: int) -> list[Any]:
        """Expected values of the model's outputs."""
        return [_array(value) for value in self.data_sets[data_set][1]]

    def fixed(self, values: dict[str, Any]) -> dict[str, np.ndarray]:
        """The inputs among `values` that the compiler must know."""
        found = {}
        lists = {value.name for value in self.model.graph.output if not value.type.HasField("tensor_type")}
        for node in self.model.graph.node:
            positions = FIXED_INPUTS.get(node.op_type, ())
            if node.op_type == "If" and lists & set(node.output):  # it decides how many tensors there are
                positions = (0,)
            for position in positions:
                name = node.input[position] if position < len(node.input) else ""
                if name in values:
                    found[name] = np.asarray(values[name])
        return found

    def shapes(self, values: dict[str, Any]) -> dict[str, tuple[int, ...] | None]:
        """What the compiler must know of `values` of inputs whose type does not say it: sequences, optional values, and
        tensors with open extents."""
        open_names = {value.name for value in self.model.graph.input if not _is_static(value.type)}
        return shapes_of({name: value for name, value in values.items() if name in open_names})


def _is_static(type_: onnx.TypeProto) -> bool:
    shape = type_.tensor_type.shape
    return type_.tensor_type.HasField("shape") and all(dim.HasField("dim_value") for dim in shape.dim)


def _array(value: Any) -> Any:
    """Some cases hold protocol buffers where others hold arrays."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _read(path: Path, value: onnx.ValueInfoProto) -> Any:
    kind = value.type.WhichOneof("value")
    if kind == "sequence_type":
        sequence = onnx.SequenceProto()
        sequence.ParseFromString(path.read_bytes())
        return numpy_helper.to_list(sequence)
    if kind == "optional_type":
        optional = onnx.OptionalProto()
        optional.ParseFromString(path.read_bytes())
        return numpy_helper.to_optional(optional)
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(tensor)


def _from_directory(test: Any) -> Case:
    directory = Path(test.model_dir)
    model = onnx.load(str(directory / "model.onnx"))
    initialized = {tensor.name for tensor in model.graph.initializer}
    entries = [value for value in model.graph.input if value.name not in initialized]
    sets = []
    for folder in sorted(directory.glob("test_data_set*")):
        inputs = [_read(folder / f"input_{i}.pb", v) for i, v in enumerate(entries)
                  if (folder / f"input_{i}.pb").exists()]  # fmt: skip
        sets.append((inputs, [_read(folder / f"output_{i}.pb", v) for i, v in enumerate(model.graph.output)]))
    return Case(test.name, test.kind, model, sets)


@cache
def all_cases() -> dict[str, Case]:
    """Every case by name: node tests without the expanded ones, and the three other kinds."""
    cases = {}
    for kind in KINDS:
        for test in load_model_tests(kind=kind):
            if _EXPANDED in test.name:
                continue
            if test.model is None:
                cases[test.name] = _from_directory(test)
            else:
                sets = [(list(inputs), list(outputs)) for inputs, outputs in test.data_sets or ()]
                cases[test.name] = Case(test.name, kind, test.model, sets)
    return cases
