"""Handlers of ONNX operators, one file per family. A handler takes a `Node` and returns its results."""
