"""What loading a model gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import onnx

from mnc.core.sequences import HostSequence


@dataclass(frozen=True)
class LoadedModel:
    """A checked model with static shapes. Its large initializers are in `weights`, and not in `proto`; `sequences` are
    the sequences and optional values among its inputs and outputs that have become tensors."""

    proto: onnx.ModelProto
    file_name: str
    opset: int
    weights: Mapping[str, onnx.TensorProto] = field(default_factory=dict)
    sequences: tuple[HostSequence, ...] = ()

    def complete(self) -> onnx.ModelProto:
        """A copy of the model with all of its initializers."""
        model = onnx.ModelProto()
        model.CopyFrom(self.proto)
        model.graph.initializer.extend(self.weights.values())
        return model

    @property
    def graph(self) -> onnx.GraphProto:
        """The main graph."""
        return self.proto.graph
