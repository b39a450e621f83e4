"""ONNX file -> graph dialect."""

from mnc.lowering.onnx_to_graph.importer import import_model

__all__ = ["import_model"]
