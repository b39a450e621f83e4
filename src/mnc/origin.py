"""What a program was compiled from, for questions that its text cannot answer."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mnc.options import Options

if TYPE_CHECKING:
    import onnx

    from mnc.core.pipeline import Pipeline
    from mnc.executable import Executable


@dataclass
class Origin:
    """A model and how it was compiled.

    Attributes:
        model: path of an ONNX file, or an ``onnx.ModelProto``.
        pipeline: what replaced the default passes.
    """

    model: Any
    options: Options
    pipeline: "Pipeline | None" = None
    _storing: "Executable | None" = field(default=None, repr=False)

    def proto(self) -> "onnx.ModelProto":
        """A copy of the model with static shapes; raises CompileError if its file is gone."""
        import onnx

        from mnc.lowering.onnx_to_graph.dynamic_shapes import bind_shapes
        from mnc.lowering.onnx_to_graph.onnx_file import drop_unknown_attributes, find_opset, without_old_operators
        from mnc.reference import load_proto

        if isinstance(self.model, onnx.ModelProto):
            name, model = "<model>", onnx.ModelProto()
            model.CopyFrom(without_old_operators(self.model, name))
            drop_unknown_attributes(model, find_opset(model, name))
        else:
            name, model = str(self.model), load_proto(self.model)
        bind_shapes(model.graph, dict(self.options.shapes), (), name)
        return model

    def random_inputs(self, seed: int) -> dict[str, np.ndarray]:
        """What ``mnc check --seed`` would draw."""
        from mnc.reference import random_inputs

        return random_inputs(self.proto(), {}, seed)

    def storing_intermediates(self) -> "Executable":
        """The same model compiled so that every float intermediate is an output, too."""
        from mnc.cached_compilation import compile
        from mnc.reference import with_intermediates

        if self._storing is None:
            options = replace(self.options, shapes={}, dump_dir=None)
            self._storing = compile(with_intermediates(self.proto()), options, pipeline=self.pipeline)
        return self._storing
