"""Constants of a model as C++: short arrays as hexadecimal floats, long ones as base64 text.

A compiler reads 25 MB of base64 in a second; the same numbers as an array take it half a minute and gigabytes.
"""

import base64
import textwrap
from dataclasses import dataclass

import numpy as np

from mnc.lowering.cpp.helpers import STRUCTURES
from mnc.lowering.cpp.types import hex_literal

_LONGEST_ARRAY = 4096
"""Elements of the longest array that is written as numbers."""
_CHUNK = 60_000
"""Characters of one string literal; the standard asks compilers for 65,536."""
_LINE = 116
_BASE64_LINE = 108


@dataclass(frozen=True)
class Weight:
    """A constant array: its accessor function, C++ element type and values."""

    name: str
    c_type: str
    values: np.ndarray
    comment: str


def _shape_text(values: np.ndarray) -> str:
    return "".join(f"[{extent}]" for extent in values.shape) or " scalar"


def weights_header(namespace: str, weights: list[Weight]) -> str:
    """``weights.h``: one function per constant."""
    types = {weight.c_type for weight in weights}
    lines = ["// Constants of the model, row-major. Each function returns a pointer to the first element."]
    lines += ["#pragma once", "", "#include <cstdint>", ""]
    lines += [f"namespace {namespace} {{"]
    lines += [text for name, text in STRUCTURES.items() if name in types]
    lines += ["namespace weights {", ""]
    lines += [f"const {w.c_type}* {w.name}();  // {w.comment}{_shape_text(w.values)}" for w in weights]
    return "\n".join([*lines, "", "}  // namespace weights", f"}}  // namespace {namespace}", ""])


_DECODER = """
// Reads base64 (RFC 4648) text of little-endian elements, given in pieces. In Python the same array is
//   numpy.frombuffer(base64.b64decode("".join(pieces)), dtype)
template <typename T, typename Bits>
std::vector<T> decode(std::initializer_list<const char*> pieces, std::size_t count) {
  static_assert(sizeof(T) == sizeof(Bits), "elements are built from their bits");
  std::vector<T> values(count);
  std::size_t element = 0, bytes = 0;
  std::uint32_t pending = 0;
  int pending_bits = 0;
  Bits bits = 0;
  for (const char* piece : pieces) {
    for (; *piece != '\\0' && *piece != '='; ++piece) {
      const char c = *piece;
      const int digit = c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26
                        : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : 63;
      pending = (pending << 6 | static_cast<std::uint32_t>(digit)) & 0xffffu;
      pending_bits += 6;
      if (pending_bits >= 8) {
        pending_bits -= 8;
        const Bits byte = static_cast<Bits>(pending >> pending_bits & 0xffu);
        bits = static_cast<Bits>(bits | static_cast<Bits>(byte << 8 * bytes));
        if (++bytes == sizeof(T)) {
          std::memcpy(&values[element++], &bits, sizeof(T));
          bits = 0;
          bytes = 0;
        }
      }
    }
  }
  return values;
}
"""


def weights_source(namespace: str, weights: list[Weight]) -> str:
    """``weights.cpp``: the values."""
    is_long = [weight.values.size > _LONGEST_ARRAY or weight.c_type in STRUCTURES for weight in weights]
    includes = ["cstddef", "cstdint", "cstring", "initializer_list", "limits", "vector"]
    lines = ["// Values of the constants; see weights.h.", '#include "weights.h"', ""]
    lines += [f"#include <{name}>" for name in includes]
    lines += ["", f"namespace {namespace} {{"]
    if any(is_long):
        lines += ["namespace {", _DECODER, "}  // namespace"]
    lines += ["namespace weights {", ""]
    for weight, long in zip(weights, is_long, strict=True):
        lines += _encoded(weight) if long else _plain(weight)
    return "\n".join([*lines, "}  // namespace weights", f"}}  // namespace {namespace}", ""])


def _plain(weight: Weight) -> list[str]:
    head = f"const {weight.c_type}* {weight.name}() {{"
    if not weight.values.size:
        return [head, "  return nullptr;", "}", ""]
    numbers = ", ".join(hex_literal(value) for value in weight.values.reshape(-1))
    body = textwrap.wrap(numbers, _LINE, initial_indent="      ", subsequent_indent="      ", break_on_hyphens=False)
    declaration = f"  static const {weight.c_type} values[{weight.values.size}] = {{"
    return [head, declaration, *body, "  };", "  return values;", "}", ""]


def _encoded(weight: Weight) -> list[str]:
    values = np.ascontiguousarray(weight.values)
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    text = base64.b64encode(little.tobytes()).decode()
    pieces = [text[i : i + _CHUNK] for i in range(0, len(text), _CHUNK)]
    bits = f"std::uint{8 * values.dtype.itemsize}_t"
    lines = [f"const {weight.c_type}* {weight.name}() {{"]
    lines.append(f"  static const std::vector<{weight.c_type}> values = decode<{weight.c_type}, {bits}>({{")
    for piece in pieces:
        rows = [f'      "{piece[i : i + _BASE64_LINE]}"' for i in range(0, len(piece), _BASE64_LINE)]
        lines += [*rows[:-1], f"{rows[-1]},"]
    return [*lines, f"  }}, {weight.values.size});", "  return values.data();", "}", ""]
