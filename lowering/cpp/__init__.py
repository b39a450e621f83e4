"""From loops on buffers (affine, scf, arith, math, memref) to C++17 text that depends on nothing."""

from mnc.lowering.cpp.program import CppParameter, CppSource, print_cpp

__all__ = ["CppParameter", "CppSource", "print_cpp"]
