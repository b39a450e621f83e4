"""Lifetimes of buffers to memories and addresses."""

from mnc.mncore_backend.codegen.allocation.allocate import CapacityError, allocate, fits
from mnc.mncore_backend.codegen.allocation.load_again import load_again

__all__ = ["CapacityError", "allocate", "fits", "load_again"]
