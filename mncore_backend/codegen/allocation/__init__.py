"""Lifetimes of buffers to memories and addresses."""

from mnc.mncore_backend.codegen.allocation.allocate import CapacityError, allocate, unplaced
from mnc.mncore_backend.codegen.allocation.load_again import load_again

__all__ = ["CapacityError", "allocate", "load_again", "unplaced"]
