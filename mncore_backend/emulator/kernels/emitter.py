"""Values of the LLVM-dialect printer: kernels are Python functions over `Value` objects.

A `Value` is a scalar or a fixed-width vector. Its operators print one LLVM operation each, so the
kernel sources read as arithmetic while the generated code has exactly the stated widths: no
auto-vectoriser is involved. Nothing prints fast-math flags; binary32 and binary64 operations are
plain IEEE, round to nearest even.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .builder import Builder

_INTEGER_COMPARE = {"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}


def element_bits(element: str) -> int:
    """Width in bits of an element type such as ``i32`` or ``f64``."""
    return 64 if element == "ptr" else int(element[1:])


def literal(element: str, value: int | float) -> str:
    """A constant of `element` as MLIR text; floats are printed as hexadecimal bit patterns."""
    if element == "i1":
        return "true" if value else "false"
    if element[0] == "i":
        bits = element_bits(element)
        value = int(value) & ((1 << bits) - 1)
        return str(value - (1 << bits) if value >> (bits - 1) else value)
    pattern = struct.pack(">d" if element == "f64" else ">f", value)
    return "0x" + pattern.hex().upper()


@dataclass(eq=False)
class Value:
    """One SSA value: `lanes` elements of type `element` (0 lanes: a scalar)."""

    builder: "Builder"
    name: str
    element: str
    lanes: int = 0

    @property
    def type(self) -> str:
        """The MLIR type."""
        if self.element == "ptr":
            return "!llvm.ptr"
        return f"vector<{self.lanes}x{self.element}>" if self.lanes else self.element

    @property
    def is_float(self) -> bool:
        """True for binary32 and binary64 elements."""
        return self.element[0] == "f"

    def like(self, value: int | float) -> "Value":
        """A constant of this value's type, the same in every lane."""
        return self.builder.constant(self.element, self.lanes, value)

    def _coerce(self, other: "Value | int | float") -> "Value":
        return other if isinstance(other, Value) else self.like(other)

    def _binary(self, operation: str, other: "Value | int | float") -> "Value":
        other = self._coerce(other)
        if other.type != self.type:
            raise TypeError(f"{operation} of {self.type} and {other.type}")
        text = f"llvm.{operation} {self.name}, {other.name} : {self.type}"
        return self.builder.emit(text, self.element, self.lanes)

    def __add__(self, other: "Value | int | float") -> "Value":
        return self._binary("fadd" if self.is_float else "add", other)

    def __sub__(self, other: "Value | int | float") -> "Value":
        return self._binary("fsub" if self.is_float else "sub", other)

    def __rsub__(self, other: int | float) -> "Value":
        return self.like(other) - self

    def __mul__(self, other: "Value | int | float") -> "Value":
        return self._binary("fmul" if self.is_float else "mul", other)

    def __and__(self, other: "Value | int | float") -> "Value":
        return self._binary("and", other)

    def __or__(self, other: "Value | int | float") -> "Value":
        return self._binary("or", other)

    def __xor__(self, other: "Value | int | float") -> "Value":
        return self._binary("xor", other)

    def __lshift__(self, other: "Value | int | float") -> "Value":
        return self._binary("shl", other)

    def __rshift__(self, other: "Value | int | float") -> "Value":
        """Logical shift right; `sar` is the arithmetic one. Amounts must be below the width."""
        return self._binary("lshr", other)

    def __invert__(self) -> "Value":
        return self ^ -1

    def sar(self, other: "Value | int") -> "Value":
        """Arithmetic shift right."""
        return self._binary("ashr", other)

    def minimum(self, other: "Value | int", signed: bool = True) -> "Value":
        """Integer minimum."""
        return self._intrinsic("smin" if signed else "umin", other)

    def maximum(self, other: "Value | int", signed: bool = True) -> "Value":
        """Integer maximum."""
        return self._intrinsic("smax" if signed else "umax", other)

    def _intrinsic(self, operation: str, other: "Value | int") -> "Value":
        other = self._coerce(other)
        text = f"llvm.intr.{operation}({self.name}, {other.name}) : ({self.type}, {self.type}) -> {self.type}"
        return self.builder.emit(text, self.element, self.lanes)

    def compare(self, predicate: str, other: "Value | int | float") -> "Value":
        """An i1 per lane. Integer predicates as in LLVM; float ones too (``olt``, ``uno``, ...)."""
        other = self._coerce(other)
        operation = "icmp" if predicate in _INTEGER_COMPARE else "fcmp"
        text = f'llvm.{operation} "{predicate}" {self.name}, {other.name} : {self.type}'
        return self.builder.emit(text, "i1", self.lanes)

    def select(self, yes: "Value | int | float", no: "Value | int | float") -> "Value":
        """Lane-wise choice by this i1 value; at least one alternative is a `Value`."""
        model = yes if isinstance(yes, Value) else no
        if not isinstance(model, Value):
            raise TypeError("one alternative must be a Value")
        yes, no = model._coerce(yes), model._coerce(no)
        if yes.type != no.type:
            raise TypeError(f"select of {yes.type} and {no.type}")
        text = f"llvm.select {self.name}, {yes.name}, {no.name} : {self.type}, {yes.type}"
        return self.builder.emit(text, yes.element, yes.lanes)

    def _cast(self, operation: str, element: str) -> "Value":
        if element == self.element:
            return self
        target = f"vector<{self.lanes}x{element}>" if self.lanes else element
        return self.builder.emit(f"llvm.{operation} {self.name} : {self.type} to {target}", element, self.lanes)

    def bitcast(self, element: str) -> "Value":
        """The same bits as lanes of `element`; little-endian, so lane 0 holds the low bits."""
        if element == self.element:
            return self
        lanes = self.lanes * element_bits(self.element) // element_bits(element)
        target = f"vector<{lanes}x{element}>" if lanes else element
        return self.builder.emit(f"llvm.bitcast {self.name} : {self.type} to {target}", element, lanes)

    def zext(self, element: str) -> "Value":
        """Zero extension of every lane."""
        return self._cast("zext", element)

    def sext(self, element: str) -> "Value":
        """Sign extension of every lane (of an i1: all ones or zero)."""
        return self._cast("sext", element)

    def trunc(self, element: str) -> "Value":
        """The low bits of every lane."""
        return self._cast("trunc", element)

    def to_float(self, element: str) -> "Value":
        """Signed integer, or the other float width, to `element`, rounded to nearest even."""
        if not self.is_float:
            return self._cast("sitofp", element)
        return self._cast("fpext" if element == "f64" else "fptrunc", element)

    def shuffle(self, indices: Sequence[int], other: "Value | None" = None) -> "Value":
        """Lanes picked by constant `indices` from this vector (and `other` behind it)."""
        second = self if other is None else other
        text = f"llvm.shufflevector {self.name}, {second.name} [{', '.join(map(str, indices))}] : {self.type}"
        return self.builder.emit(text, self.element, len(indices))

    def exchange(self, distance: int) -> "Value":
        """Lane i receives lane i xor `distance`."""
        return self.shuffle([i ^ distance for i in range(self.lanes)])

    def at(self, offset: "Value | int") -> "Value":
        """A pointer `offset` bytes behind this one."""
        offset = offset if isinstance(offset, Value) else self.builder.constant("i64", 0, offset)
        text = f"llvm.getelementptr {self.name}[{offset.name}] : (!llvm.ptr, i64) -> !llvm.ptr, i8"
        return self.builder.emit(text, "ptr")

    def load(self, element: str, lanes: int = 0) -> "Value":
        """Read a scalar or vector through this pointer; no alignment beyond bytes is assumed."""
        target = f"vector<{lanes}x{element}>" if lanes else ("!llvm.ptr" if element == "ptr" else element)
        text = f"llvm.load {self.name} {{alignment = 1 : i64}} : !llvm.ptr -> {target}"
        return self.builder.emit(text, element, lanes)

    def load_splat(self, element: str, lanes: int) -> "Value":
        """Read one element and repeat it in every lane."""
        return self.load(element).splat(lanes)

    def store(self, value: "Value") -> None:
        """Write `value` through this pointer."""
        self.builder.line(f"llvm.store {value.name}, {self.name} {{alignment = 1 : i64}} : {value.type}, !llvm.ptr")

    def splat(self, lanes: int) -> "Value":
        """This scalar in every lane of a vector."""
        vector = f"vector<{lanes}x{self.element}>"
        undefined = self.builder.emit(f"llvm.mlir.undef : {vector}", self.element, lanes)
        zero = self.builder.constant("i32", 0, 0)
        first = self.builder.emit(
            f"llvm.insertelement {self.name}, {undefined.name}[{zero.name} : i32] : {vector}", self.element, lanes
        )
        return first.shuffle([0] * lanes)

    def any_lane(self) -> "Value":
        """Scalar i1: is any lane of this i1 vector set?"""
        text = f'llvm.call_intrinsic "llvm.vector.reduce.or"({self.name}) : ({self.type}) -> i1'
        return self.builder.emit(text, "i1")

    def multiply_add(self, factor: "Value", addend: "Value") -> "Value":
        """self * factor + addend, fused or not: only for operands where both steps are exact."""
        text = (
            f"llvm.intr.fmuladd({self.name}, {factor.name}, {addend.name})"
            f" : ({self.type}, {self.type}, {self.type}) -> {self.type}"
        )
        return self.builder.emit(text, self.element, self.lanes)

    def fused(self, factor: "Value", addend: "Value") -> "Value":
        """self * factor + addend with one rounding."""
        kinds = ", ".join([self.type] * 3)
        text = f"llvm.intr.fma({self.name}, {factor.name}, {addend.name}) : ({kinds}) -> {self.type}"
        return self.builder.emit(text, self.element, self.lanes)

    def gather(self, offsets: "Value", element: str) -> "Value":
        """Lane i read `offsets`[i] bytes behind this pointer (integer elements, 32 or 64 bits)."""
        lanes = offsets.lanes
        pointers = self.builder.fresh()
        self.builder.line(
            f"{pointers} = llvm.getelementptr {self.name}[{offsets.name}]"
            f" : (!llvm.ptr, vector<{lanes}xi64>) -> vector<{lanes}x!llvm.ptr>, i8"
        )
        mask = self.builder.constant("i1", lanes, 1)
        passed = self.builder.constant(element, lanes, 0)
        text = (
            f"llvm.intr.masked.gather {pointers}, {mask.name}, {passed.name} {{alignment = 1 : i32}}"
            f" : (vector<{lanes}x!llvm.ptr>, {mask.type}, {passed.type}) -> {passed.type}"
        )
        return self.builder.emit(text, element, lanes)

    def leading_zeros(self) -> "Value":
        """Number of zero bits above the highest set bit; the width for zero."""
        text = f'"llvm.intr.ctlz"({self.name}) <{{is_zero_poison = false}}> : ({self.type}) -> {self.type}'
        return self.builder.emit(text, self.element, self.lanes)
