"""Lifetimes of buffers to memories and addresses."""

from mnc.mncore_backend.allocation.allocate import CapacityError, allocate

__all__ = ["CapacityError", "allocate"]
