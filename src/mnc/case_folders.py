"""Tests as folders, in the layout of ONNX backend tests: a model, and data sets of inputs and expected outputs.

    FOLDER/node.onnx (or model.onnx)
    FOLDER/test_data_set_0/input_0.pb, input_1.pb, ..., output_0.pb, ...
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from mnc.core.diagnostics import CompileError
from mnc.core.files import no_empty_directories, whole_file
from mnc.core.sequences import shapes_of, tensors_of
from mnc.lowering.onnx_to_graph.dynamic_shapes import fix_inputs
from mnc.lowering.onnx_to_graph.onnx_file import read_proto
from mnc.lowering.onnx_to_graph.proto_checks import check_tensor
from mnc.lowering.onnx_to_graph.sequence_inputs import list_type, split_inputs

MODEL_NAMES = ("node.onnx", "model.onnx")
_DATA_SET = "test_data_set_"

STRUCTURAL_INPUTS: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,), "CenterCropPad": (1,), "Clip": (1, 2), "Col2Im": (1, 2), "ConstantOfShape": (0,),
    "CumSum": (1,), "DFT": (1, 2), "Dropout": (1, 2), "Expand": (1,), "OneHot": (1,), "Pad": (1, 2, 3),
    "Range": (0, 1, 2), "Reshape": (1,), "Resize": (1, 2, 3), "SequenceAt": (1,), "SequenceErase": (1,),
    "SequenceInsert": (2,), "Slice": (1, 2, 3, 4), "Split": (1,), "SplitToSequence": (1,), "Squeeze": (1,),
    "STFT": (1, 3), "Tile": (1,), "TopK": (1,), "Unsqueeze": (1,), "Upsample": (1,),
    **dict.fromkeys(("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
                     "ReduceProd", "ReduceSum", "ReduceSumSquare"), (1,)),
}  # fmt: skip
"""Operator -> inputs that decide shapes or structure. Backend tests give them as data; a compiler must know them."""


@dataclass(frozen=True)
class Case:
    """A model with values of its inputs and the outputs that they should give. Inputs of the model that are sequences
    or optional values have become tensors; of outputs, elements have values by names such as ``y[0]``."""

    name: str
    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]


def write_case(directory: Path, case: Case, file_name: str = MODEL_NAMES[0]) -> Path:
    """Write a folder named after the case into `directory`, replacing an older one; the folder.

    Raises:
        CompileError: it cannot be written.
    """
    folder = directory / case.name
    data = folder / f"{_DATA_SET}0"
    try:
        shutil.rmtree(data, ignore_errors=True)
        with no_empty_directories(data):
            data.mkdir(parents=True, exist_ok=True)
            with whole_file(folder / file_name, "choose another directory with -o") as file:
                file.write(case.model.SerializeToString())
            for role, arrays in (("input", case.inputs), ("output", case.outputs)):
                for i, (name, array) in enumerate(arrays.items()):
                    with whole_file(data / f"{role}_{i}.pb", "choose another directory with -o") as file:
                        file.write(onnx.numpy_helper.from_array(array, name).SerializeToString())
    except OSError as error:
        message = f"cannot write {folder}: {error.strerror}"
        raise CompileError(message, hint="choose another directory with -o") from None
    return folder


def is_case_folder(path: Path) -> bool:
    """Whether `path` holds a model and data sets."""
    return path.is_dir() and any((path / name).is_file() for name in MODEL_NAMES) and bool(_data_sets(path))


def find_case_folders(path: Path) -> list[Path]:
    """`path` itself, or the test folders inside it, by name.

    Raises:
        CompileError: there are none.
    """
    if is_case_folder(path):
        return [path]
    found = sorted(inner for inner in path.iterdir() if is_case_folder(inner))
    if not found:
        message = f"'{path}' is no unit test: it needs {' or '.join(MODEL_NAMES)} and {_DATA_SET}0"
        raise CompileError(message, hint="mnc unit-tests MODEL -o DIR makes some; a model is given as a file")
    return found


def _data_sets(folder: Path) -> list[Path]:
    sets = [path for path in folder.glob(f"{_DATA_SET}*") if path.is_dir()]
    return sorted(sets, key=lambda path: (len(path.name), path.name))


def read_cases(folder: Path) -> list[Case]:
    """The data sets of a test folder; structural inputs have become part of the model.

    Raises:
        CompileError: a file is missing, damaged, or does not belong to the model.
    """
    model = read_proto(next(folder / name for name in MODEL_NAMES if (folder / name).is_file()))
    sets = _data_sets(folder)
    return [_read_case(folder, model, data, len(sets) > 1) for data in sets]


def _read_case(folder: Path, model: onnx.ModelProto, data: Path, numbered: bool) -> Case:
    initialized = {tensor.name for tensor in model.graph.initializer}
    entries = [value for value in model.graph.input if value.name not in initialized]
    inputs = _read_values(data, "input", entries)
    outputs = _read_values(data, "output", list(model.graph.output))
    if missing := [value.name for value in model.graph.output if value.name not in outputs]:
        raise CompileError(f"there is no expected value for output '{missing[0]}'", location=str(data))
    own = onnx.ModelProto()
    own.CopyFrom(model)
    fixed = {name: inputs.pop(name) for name in _structural(model) if name in inputs}
    fix_inputs(own.graph, fixed, initialized, str(folder))
    lists = {value.name for value in entries if list_type(value.type) is not None}
    said = shapes_of({name: value for name, value in inputs.items() if name in lists})
    split_inputs(own.graph, said, initialized, str(folder))
    name = f"{folder.name}/{data.name.removeprefix(_DATA_SET)}" if numbered else folder.name
    return Case(name, own, tensors_of(inputs), tensors_of(outputs))


def _structural(model: onnx.ModelProto) -> list[str]:
    names = [
        node.input[position]
        for node in model.graph.node
        for position in STRUCTURAL_INPUTS.get(node.op_type, ())
        if position < len(node.input)
    ]
    return list(dict.fromkeys(names))


def _read_values(data: Path, role: str, entries: list[onnx.ValueInfoProto]) -> dict[str, Any]:
    """Arrays, lists of them or None, by name: the name inside the file where the model knows it, else by position."""
    known = {value.name for value in entries}
    found = {}
    for i, value in enumerate(entries):
        path = data / f"{role}_{i}.pb"
        if not path.is_file():
            continue
        kind = list_type(value.type)
        if kind is None and value.type.WhichOneof("value") not in ("tensor_type", None):
            raise CompileError(f"{role} '{value.name}' is not a tensor", location=str(path))
        proto = onnx.TensorProto() if kind is None else onnx.SequenceProto()
        if kind is not None and kind.is_optional:
            proto = onnx.OptionalProto()
        try:
            proto.ParseFromString(path.read_bytes())
            own = _value(proto, str(path))
        except (DecodeError, OSError, ValueError, TypeError, KeyError) as error:
            what = "tensor" if kind is None else "list of tensors"
            message = f"cannot read a {what}: {str(error).strip().splitlines()[0] if str(error) else error!r}"
            raise CompileError(message, location=str(path), hint="write the unit tests again") from None
        found[proto.name if proto.name in known else value.name] = own
    return found


def _value(proto: onnx.TensorProto | onnx.SequenceProto | onnx.OptionalProto, file_name: str) -> Any:
    """The array, the list of arrays, or None for an optional value that is not there."""
    if isinstance(proto, onnx.TensorProto):
        check_tensor(proto, file_name)
        return onnx.numpy_helper.to_array(proto)
    if isinstance(proto, onnx.SequenceProto):
        return [_value(tensor, file_name) for tensor in proto.tensor_values]
    if proto.elem_type == onnx.OptionalProto.SEQUENCE:
        return _value(proto.sequence_value, file_name)
    return _value(proto.tensor_value, file_name) if proto.elem_type == onnx.OptionalProto.TENSOR else None
