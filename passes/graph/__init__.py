"""Passes on the graph dialect: whole tensors, hardware-free."""
