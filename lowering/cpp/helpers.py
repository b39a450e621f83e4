"""Functions that the generated text may call. Only those in use are printed, after what they need themselves."""

from collections.abc import Iterable

_NEEDS = {"wrapping_power": ("wrapping_multiply",), "floor_modulo": ("floor_divide",)}

_TEXT = {
    "maximum": """// The larger number, NaN when either is NaN.
template <typename T>
T maximum(T a, T b) {
  return ((a > b) | (a != a)) ? a : b;
}""",
    "minimum": """// The smaller number, NaN when either is NaN.
template <typename T>
T minimum(T a, T b) {
  return ((a < b) | (a != a)) ? a : b;
}""",
    "wrapping_add": """// a + b, modulo the range of T.
template <typename T>
T wrapping_add(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}""",
    "wrapping_subtract": """// a - b, modulo the range of T.
template <typename T>
T wrapping_subtract(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}""",
    "wrapping_multiply": """// a * b, modulo the range of T.
template <typename T>
T wrapping_multiply(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}""",
    "wrapping_power": """// a to the power of b, modulo the range of T; 0 for a negative exponent unless a is 1 or -1.
template <typename T>
T wrapping_power(T a, T b) {
  if (b < 0) {
    return static_cast<T>(a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0);
  }
  T result = 1;
  for (; b > 0; b = static_cast<T>(b / 2)) {
    if (b % 2 == 1) {
      result = wrapping_multiply(result, a);
    }
    a = wrapping_multiply(a, a);
  }
  return result;
}""",
    "divide": """// a / b rounded toward zero; 0 for division by zero, wraps for the one quotient out of range.
template <typename T>
T divide(T a, T b) {
  return b == 0 ? T{0} : b == static_cast<T>(-1) && std::is_signed<T>::value
             ? static_cast<T>(0 - static_cast<std::uint64_t>(a))
             : static_cast<T>(a / b);
}""",
    "remainder": """// Remainder with the sign of a; 0 for division by zero.
template <typename T>
T remainder(T a, T b) {
  return b == 0 || (b == static_cast<T>(-1) && std::is_signed<T>::value) ? T{0} : static_cast<T>(a % b);
}""",
    "floor_divide": """// a / b rounded toward minus infinity, for positive b.
template <typename T>
T floor_divide(T a, T b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}""",
    "floor_modulo": """// a - b * floor(a / b), for positive b.
template <typename T>
T floor_modulo(T a, T b) {
  return a - b * floor_divide(a, b);
}""",
    "ceil_divide": """// a / b rounded toward plus infinity, for positive b.
template <typename T>
T ceil_divide(T a, T b) {
  return a > 0 ? (a + b - 1) / b : -(-a / b);
}""",
    "to_integer": """// x truncated toward zero, and of that the bits that T has: -1.5 is the largest unsigned
// number. NaN, and what no signed integer of 32 bits holds (of 64 where T is larger than an int), become the smallest.
template <typename T, typename F>
T to_integer(F x) {
  constexpr bool fits = sizeof(T) < 4 || (sizeof(T) == 4 && std::numeric_limits<T>::is_signed);
  using Wide = std::conditional_t<fits, std::int32_t, std::int64_t>;
  constexpr F begin = static_cast<F>(std::numeric_limits<Wide>::min());
  if (sizeof(T) == 8 && !std::numeric_limits<T>::is_signed && x >= -begin && x < -begin * 2) {
    return static_cast<T>(x);
  }
  return static_cast<T>(x >= begin && x < -begin ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min());
}""",
    "bit_cast": """// The bits of `from` read as a T.
template <typename T, typename F>
T bit_cast(F from) {
  static_assert(sizeof(T) == sizeof(F), "bit_cast keeps the size");
  T to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}""",
    "within": """// An index that the data decide, checked.
inline std::int64_t within(std::int64_t index, std::int64_t extent) {
  if (index < 0 || index >= extent) {
    throw std::out_of_range("index " + std::to_string(index) + " is outside 0 to " + std::to_string(extent - 1));
  }
  return index;
}""",
    "Half": """inline float to_float(Half x) {
  const std::uint32_t sign = (x.bits & 0x8000u) << 16, exponent = (x.bits >> 10) & 0x1fu, fraction = x.bits & 0x3ffu;
  float magnitude;
  if (exponent == 0) {
    magnitude = static_cast<float>(fraction) * 0x1p-24f;
  } else {
    const std::uint32_t wide = (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13;
    std::memcpy(&magnitude, &wide, sizeof magnitude);
  }
  return sign != 0 ? -magnitude : magnitude;
}

// Rounds to nearest, ties to even.
inline Half to_half(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  std::uint32_t half;
  if (bits > 0x7f800000u) {
    half = 0x7e00u;
  } else if (bits >= 0x47800000u) {
    half = 0x7c00u;
  } else if (bits < 0x38800000u) {
    half = static_cast<std::uint32_t>(std::nearbyint(std::fabs(x) * 0x1p24f));
  } else {
    half = (bits - 0x38000000u + 0xfffu + (bits >> 13 & 1u)) >> 13;
  }
  return Half{static_cast<std::uint16_t>(sign | half)};
}""",
    "BFloat16": """inline float to_float(BFloat16 x) {
  const std::uint32_t wide = static_cast<std::uint32_t>(x.bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// Rounds to nearest, ties to even.
inline BFloat16 to_bfloat16(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  bits = is_nan ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
  return BFloat16{static_cast<std::uint16_t>(bits >> 16)};
}""",
}


STRUCTURES = {
    "BFloat16": """// The upper half of a float, stored as its bits; arithmetic happens in float.
struct BFloat16 {
  std::uint16_t bits;
};""",
    "Half": """// IEEE binary16, stored as its bits; arithmetic happens in float.
struct Half {
  std::uint16_t bits;
};""",
}
"""Element types that C++17 does not have; the helper of the same name converts them."""

HELPER_NAMES = frozenset([*_TEXT, "to_float", "to_half", "to_bfloat16"])
"""What nothing else may be called."""


def helper_text(used: Iterable[str]) -> str:
    """Definitions of the functions in `used` and of those that they need, in a fixed order."""
    wanted = set(used)
    for name in list(wanted):
        wanted.update(_NEEDS.get(name, ()))
    order = ["wrapping_multiply", "floor_divide", *sorted(set(_TEXT) - {"wrapping_multiply", "floor_divide"})]
    return "\n\n".join(_TEXT[name] for name in order if name in wanted)
