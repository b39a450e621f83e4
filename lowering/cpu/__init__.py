"""Execution on the CPU through the LLVM JIT of the bindings: what every level above the machine is judged with."""

from mnc.lowering.cpu.compile import CpuFunction, compile_for_cpu

__all__ = ["CpuFunction", "compile_for_cpu"]
