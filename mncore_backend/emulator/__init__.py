"""Bit-exact emulator of MN-Core 2: assembly text and initial memory in, full state out."""

from mnc.mncore_backend.emulator.errors import EmulationError
from mnc.mncore_backend.emulator.simulator import Machine
from mnc.mncore_backend.emulator.statistics import Statistics

__all__ = ["EmulationError", "Machine", "Statistics"]
