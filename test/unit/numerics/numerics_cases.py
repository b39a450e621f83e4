"""Constructed operands on which rounding mistakes show; uniform random patterns hardly find any."""

import random
from collections.abc import Callable, Iterator

from mnc.mncore_backend.emulator.numerics.conversion import NARROWER
from mnc.mncore_backend.emulator.numerics.formats import FORMATS, LANE_BITS, Exact, Format, value
from mnc.mncore_backend.emulator.numerics.mau_vector import ACCUMULATOR, product
from mnc.mncore_backend.emulator.numerics.rounding import round_exact

Triple = tuple[int, int, int]


def specials(form: Format) -> list[int]:
    """Zeros and infinities, canonical or not, the ends of the normal range, and a few plain numbers."""
    top, ones = form.top, (1 << form.mantissa_bits) - 1
    magnitudes = [
        (0, 0),
        (0, 1),
        (0, ones),
        (1, 0),
        (1, ones),
        (form.bias - 1, ones),
        (form.bias, 0),
        (form.bias, 1),
        (form.bias + 1, ones),
        (top - 1, 0),
        (top - 1, ones),
        (top, 0),
        (top, 1),
        (top, ones),
    ]
    return [form.pack(sign, exponent, mantissa) for sign in (0, 1) for exponent, mantissa in magnitudes]


def normal(form: Format, rng: random.Random, low: int | None = None, high: int | None = None) -> int:
    """A normal number with unbiased exponent in [low, high] (default: all) and a random or sparse mantissa."""
    smallest, largest = 1 - form.bias, form.bias
    low = smallest if low is None else min(max(low, smallest), largest)
    high = largest if high is None else min(max(high, smallest), largest)
    mantissa = rng.getrandbits(form.mantissa_bits)
    style = rng.randrange(4)
    if style == 0:
        mantissa &= -(1 << rng.randrange(form.mantissa_bits))
    elif style == 1:
        mantissa |= (1 << rng.randrange(form.mantissa_bits)) - 1
    return form.pack(rng.getrandbits(1), rng.randint(low, high) + form.bias, mantissa)


def nearby(form: Format, pattern: int, rng: random.Random, distance: int = 2) -> int:
    """A pattern at most `distance` units in the last place away, of the same sign."""
    magnitude_mask = (1 << (form.bits - 1)) - 1
    moved = min(max((pattern & magnitude_mask) + rng.randint(-distance, distance), 0), magnitude_mask)
    return pattern & ~magnitude_mask | moved


def midpoint(form: Format, number: Exact, steps: int) -> Exact:
    """A point halfway between two neighbours of `form`, `steps` neighbours away from `number`."""
    shift = abs(number.integer).bit_length() - (form.mantissa_bits + 2)
    integer = number.integer >> shift if shift >= 0 else number.integer << -shift
    return Exact((integer | 1) + 2 * steps, number.scale + shift)


def addend_to_midpoint(exact: Exact, target: Format, accumulator: Format, rng: random.Random) -> int:
    """c for which `exact` + c lies on or very close to a rounding boundary of `target`."""
    if exact.integer == 0:
        return normal(accumulator, rng)
    goal = midpoint(target, exact, rng.choice([0, 0, 0, 1, -1, rng.randint(-5000, 5000)]))
    c = round_exact(accumulator, goal + Exact(-exact.integer, exact.scale))
    return nearby(accumulator, c, rng, rng.choice([0, 0, 1]))


def _moderate(form: Format) -> int:
    return form.bias // 2 - form.mantissa_bits // 4


def _near_midpoint(form: Format, rng: random.Random, reduce: bool) -> Triple:
    """Sums within a few units far below the last place of a rounding boundary."""
    limit = min(_moderate(form), 40)
    a, b = normal(form, rng, -limit, limit), normal(form, rng, -limit, limit)
    accumulator = ACCUMULATOR[form]
    target = NARROWER[accumulator] if reduce else accumulator
    return a, b, addend_to_midpoint(product(form, a, b), target, accumulator, rng)


def _half_ulp_product(form: Format, rng: random.Random, reduce: bool) -> Triple:
    """A product just below, at or just above half a unit in the last place of c."""
    accumulator = ACCUMULATOR[form]
    target = NARROWER[accumulator] if reduce else accumulator
    one = form.bias << form.mantissa_bits
    distance = rng.randrange(1 << (form.mantissa_bits // 2))
    a = one + distance
    b = (one - 2 * distance if rng.getrandbits(1) else one + rng.choice([0, 0, 1])) if distance else one
    shift = rng.randint(-3, 3)
    exponent = accumulator.bias + target.mantissa_bits + 1 + shift
    step = accumulator.mantissa_bits - target.mantissa_bits
    c = accumulator.pack(rng.getrandbits(1), exponent, rng.getrandbits(target.mantissa_bits) << step)
    b = form.pack(rng.getrandbits(1), form.exponent(b) + shift, form.mantissa(b))
    return a, b, c


def _cancellation(form: Format, rng: random.Random, _: bool) -> Triple:
    """c within a few units of -a*b, so that the omitted partial products decide."""
    limit = min(_moderate(form), 40)
    a, b = normal(form, rng, -limit, limit), normal(form, rng, -limit, limit)
    if rng.getrandbits(1):
        low = rng.choice([1, 3, 31, 32, 33, 63, 64, 95])
        a, b = a & ~0x7F | low, b & ~0x7F | rng.choice([0, 1, 2, 31, 32, 33, 64, 127])
    exact = product(form, a, b)
    accumulator = ACCUMULATOR[form]
    c = round_exact(accumulator, Exact(-exact.integer, exact.scale))
    return a, b, nearby(accumulator, c, rng)


def _flush_bound(form: Format, rng: random.Random, reduce: bool) -> Triple:
    """Results on both sides of half the distance below the smallest normal number."""
    accumulator = ACCUMULATOR[form]
    target = NARROWER[accumulator] if reduce else accumulator
    smallest = 1 - target.bias
    a = normal(form, rng, smallest // 2 - 3, smallest // 2 + 3)
    goal = Exact((4 << target.mantissa_bits) + rng.randint(-6, 3), smallest - target.mantissa_bits - 2)
    exact = value(form, a)
    b = round_exact(form, Exact((goal.integer << 120) // abs(exact.integer), goal.scale - exact.scale - 120))
    c = 0
    if rng.getrandbits(1):
        p = product(form, a, b)
        c = round_exact(accumulator, goal + Exact(-p.integer, p.scale))
    elif rng.getrandbits(1):
        c = nearby(accumulator, accumulator.pack(rng.getrandbits(1), rng.randint(1, 3), 0), rng)
    return a, nearby(form, b, rng, 1), c


def _overflow_bound(form: Format, rng: random.Random, reduce: bool) -> Triple:
    """Results around the largest finite number of the output."""
    accumulator = ACCUMULATOR[form]
    target = NARROWER[accumulator] if reduce else accumulator
    half = target.bias // 2
    a = normal(form, rng, half - 1, half + 1)
    goal = Exact((4 << target.mantissa_bits) + rng.randint(-6, 3), target.bias - target.mantissa_bits - 1)
    exact = value(form, a)
    b = round_exact(form, Exact((goal.integer << 120) // abs(exact.integer), goal.scale - exact.scale - 120))
    p = product(form, a, b)
    c = round_exact(accumulator, goal + Exact(-p.integer, p.scale)) if rng.getrandbits(1) else 0
    return a, b, c


def _special(form: Format, rng: random.Random, _: bool) -> Triple:
    inputs, addends = specials(form), specials(ACCUMULATOR[form])
    return rng.choice(inputs), rng.choice(inputs), rng.choice(addends)


def _raw(form: Format, rng: random.Random, _: bool) -> Triple:
    accumulator = ACCUMULATOR[form]
    return rng.getrandbits(form.bits), rng.getrandbits(form.bits), rng.getrandbits(accumulator.bits)


def _integers(form: Format, rng: random.Random, _: bool) -> Triple:
    def number(target: Format, limit: int) -> int:
        return round_exact(target, Exact(rng.randint(-limit, limit)))

    return number(form, 40), number(form, 40), number(ACCUMULATOR[form], 2000)


def _far_apart(form: Format, rng: random.Random, _: bool) -> Triple:
    limit = _moderate(form)
    return normal(form, rng, -limit, limit), normal(form, rng, -limit, limit), normal(ACCUMULATOR[form], rng)


FAMILIES: dict[str, Callable[[Format, random.Random, bool], Triple]] = {
    "near_midpoint": _near_midpoint,
    "half_ulp_product": _half_ulp_product,
    "cancellation": _cancellation,
    "flush_bound": _flush_bound,
    "overflow_bound": _overflow_bound,
    "special": _special,
    "raw": _raw,
    "integers": _integers,
    "far_apart": _far_apart,
}


def triples(form: Format, reduce: bool = False, count: int = 600, seed: int = 1) -> list[Triple]:
    """`count` operands a, b, c of every family for a*b + c with products of `form`."""
    rng = random.Random(f"{form.letter}{reduce}{seed}")
    return [family(form, rng, reduce) for family in FAMILIES.values() for _ in range(count)]


def pairs_of_specials(form: Format) -> Iterator[tuple[int, int]]:
    """Every ordered pair of special patterns."""
    for a in specials(form):
        for b in specials(form):
            yield a, b


def float_inputs(form: Format, rng: random.Random, count: int, target: Format) -> list[int]:
    """Terms around a leading one: ties at the third extra bit, half units, cancellation, limits."""
    style = rng.randrange(9)
    if style == 0:
        return [rng.choice(specials(form)) for _ in range(count)]
    if style == 1:
        return [rng.getrandbits(form.bits) for _ in range(count)]
    if style == 2:  # near the overflow and flush limits
        power = rng.choice([form.bias, form.bias - 1, form.bias - 2, 1 - form.bias, 2 - form.bias])
        return [normal(form, rng, power - 1, power + 1) for _ in range(count)]
    power = rng.randint(-5, 5)
    first = normal(form, rng, power, power)
    inputs = [first]
    if style == 3:  # leading terms cancel
        inputs.append(nearby(form, first ^ 1 << (form.bits - 1), rng, 3))
    unit = power - target.mantissa_bits
    while len(inputs) < count:
        if style in (4, 5):  # fractions of a unit in the last place of the result
            term = Exact(rng.choice([1, -1]) * rng.choice([1, 2, 3, 4, 5, 8]), unit - 3)
            inputs.append(nearby(form, round_exact(form, term), rng, 1))
        elif style == 6:
            inputs.append(rng.choice([0, 1 << (form.bits - 1), 1, nearby(form, first, rng, 5)]))
        else:
            inputs.append(normal(form, rng, power - target.mantissa_bits - 5, power))
    rng.shuffle(inputs)
    return inputs


def _integer_inputs(bits: int, rng: random.Random, count: int) -> list[int]:
    style = rng.randrange(4)
    if style == 0:
        return [rng.choice([0, 1, (1 << bits) - 1, 1 << (bits - 1)]) for _ in range(count)]
    if style == 1:
        return [0] * (count - 1) + [rng.choice([0, 1, 1 << (bits - 1)])]
    return [rng.getrandbits(bits) for _ in range(count)]


def reduction_inputs(op: str, precision: str, rng: random.Random, count: int, target: str = "") -> list[int]:
    """Elements of one reduction, chosen so that a wrong rounding, order or special case shows."""
    if precision in FORMATS:
        return float_inputs(FORMATS[precision], rng, count, FORMATS[target or precision])
    return _integer_inputs(LANE_BITS[precision], rng, count)
