"""Strict check of matrix-vector inputs: the elements of a block share one exponent (SDM 4.5)."""

from mnc.mncore_backend.emulator.kernels.emitter import Value
from mnc.mncore_backend.emulator.kernels.jit import CYCLES, Kernel, Step, kernel, pes
from mnc.mncore_backend.target import cached_per_machine

_FIELDS = {"d": (64, 11, 52), "f": (32, 8, 23), "g": (32, 8, 23), "h": (16, 6, 9)}
_MABS_PER_VECTOR = 2  # eight long words: two MABs


def _lanes(x: Value, precision: str) -> Value:
    """Exponent fields of eight long words; in f mode only the MSB words count."""
    bits, exponent_bits, mantissa_bits = _FIELDS[precision]
    lanes = x.bitcast(f"i{bits}")
    if precision == "f":  # the MSB word is the odd lane on a little-endian host: repeat it over the other
        lanes = lanes.shuffle([i | 1 for i in range(lanes.lanes)])
    return lanes & (((1 << exponent_bits) - 1) << mantissa_bits)


@cached_per_machine()
def check_kernel(precision: str) -> Kernel:
    """Counts its executions in long 2 of the fault row of a block; at the first pair of MABs with unequal exponents it
    sets longs 0 and 1 to that count and to vectors of a row * cycle + pair + 1.

    A half element whose exponent field is 0 belongs to an extended block and is accepted (OPEN-29).
    """

    def body(step: Step) -> None:
        lanes_per_mab = 4 * 64 // _FIELDS[precision][0]
        fault = step.row("fault", 0)
        count = fault.at(16).load("i64") + 1
        fault.at(16).store(count)
        chunks = pes() // 8
        with step.builder.loop(0, CYCLES * chunks) as index:
            cycle, chunk = index >> (chunks.bit_length() - 1), index & (chunks - 1)
            exponents = _lanes(step.row("x", cycle).at(chunk << 6).load("i64", 8), precision)
            if precision == "h":
                wrong = _extended_mismatch(exponents, lanes_per_mab)
            else:
                first = exponents.shuffle([i // lanes_per_mab * lanes_per_mab for i in range(exponents.lanes)])
                wrong = exponents.compare("ne", first).any_lane()
            with step.builder.when(wrong), _unset(step, fault):
                fault.store(count)
                fault.at(8).store(index + 1)

    return kernel(f"check_{precision}", ("fault", "x"), body)


def _unset(step: Step, fault: Value):
    return step.builder.when(fault.at(8).load("i64").compare("eq", 0))


def _extended_mismatch(exponents: Value, lanes_per_mab: int) -> Value:
    """Do two nonzero exponents of a MAB differ? Compare each with the largest of the block."""
    largest = exponents
    distance = 1
    while distance < lanes_per_mab:
        largest = largest.maximum(largest.exchange(distance), signed=False)
        distance *= 2
    nonzero = exponents.compare("ne", 0)
    return (nonzero & exponents.compare("ne", largest)).any_lane()
