"""Operators of domain ai.onnx.ml on numbers, as operations on tensors."""
