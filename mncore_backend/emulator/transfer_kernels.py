"""Kernels of the L1BM port: copies between rows of PEs and the linear long words of an L1BM (SDM 3.5.8).

They follow the calling convention of `kernels`: row addresses of four cycles and a block stride per operand.
"""

from mnc.mncore_backend.emulator.kernels.emitter import Value
from mnc.mncore_backend.emulator.kernels.jit import Kernel, Step, kernel, pes
from mnc.mncore_backend.target import MABS_PER_QUAD, PES_PER_MAB, cached_per_machine

GROUP = 4  # long words of one MAB


def _quads() -> int:
    """Of an L1B."""
    return pes() // (MABS_PER_QUAD * PES_PER_MAB)


def _four_cycles(step: Step, names: tuple[str, ...]) -> list[tuple[int, dict[str, Value]]]:
    return [(cycle, {name: step.row(name, cycle) for name in names}) for cycle in range(4)]


@cached_per_machine()
def broadcast_one() -> Kernel:
    """``l1bmp``: out[pe] = x[0] for all PEs."""

    def body(step: Step) -> None:
        for _, row in _four_cycles(step, ("out", "x")):
            value = row["x"].load_splat("i64", 8)
            for chunk in range(pes() // 8):
                row["out"].at(64 * chunk).store(value)

    return kernel("l1bmp", ("out", "x"), body)


@cached_per_machine()
def broadcast_four() -> Kernel:
    """``l1bmm``: out[4 m + p] = x[p]."""

    def body(step: Step) -> None:
        for _, row in _four_cycles(step, ("out", "x")):
            value = row["x"].load("i64", GROUP).shuffle([0, 1, 2, 3, 0, 1, 2, 3])
            for chunk in range(pes() // 8):
                row["out"].at(64 * chunk).store(value)

    return kernel("l1bmm", ("out", "x"), body)


@cached_per_machine()
def broadcast_quads(stride: int) -> Kernel:
    """``l1bmm4``: out[4 m + p] = x[stride * (m >> 2) + p]."""

    def body(step: Step) -> None:
        for _, row in _four_cycles(step, ("out", "x")):
            for quad in range(_quads()):
                value = row["x"].at(8 * stride * quad).load("i64", GROUP).shuffle([0, 1, 2, 3, 0, 1, 2, 3])
                row["out"].at(128 * quad).store(value)
                row["out"].at(128 * quad + 64).store(value)

    return kernel(f"l1bmm4_{stride}", ("out", "x"), body)


@cached_per_machine()
def copy_quads(source_stride: int, target_stride: int) -> Kernel:
    """out[target_stride * q + p] = x[source_stride * q + p] for quads q and p < 4."""

    def body(step: Step) -> None:
        for _, row in _four_cycles(step, ("out", "x")):
            for quad in range(_quads()):
                value = row["x"].at(8 * source_stride * quad).load("i64", GROUP)
                row["out"].at(8 * target_stride * quad).store(value)

    return kernel(f"quads_{source_stride}_{target_stride}", ("out", "x"), body)


@cached_per_machine()
def copy_run(longs: int) -> Kernel:
    """out[i] = x[i] for i < longs, a power of two from 4 to 32."""

    def body(step: Step) -> None:
        width = min(longs, 8)
        for _, row in _four_cycles(step, ("out", "x")):
            for first in range(0, longs, width):
                row["out"].at(8 * first).store(row["x"].at(8 * first).load("i64", width))

    return kernel(f"run_{longs}", ("out", "x"), body)


@cached_per_machine()
def rotate_mabs() -> Kernel:
    """``l1bmd+n``: out[4 * ((m + shift) mod MABs) + p] = x[4 m + p]; out and x must differ."""

    def body(step: Step) -> None:
        with step.builder.loop(0, 4) as cycle:
            out, x = step.row("out", cycle), step.row("x", cycle)
            shift = step.scalar("shift", 0)
            mabs = pes() // PES_PER_MAB
            with step.builder.loop(0, mabs) as mab:
                target = ((mab + shift) & (mabs - 1)) << 5
                out.at(target).store(x.at(mab << 5).load("i64", GROUP))

    return kernel("rotate_mabs", ("out", "x", "shift"), body)


@cached_per_machine()
def join_halves() -> Kernel:
    """D0 of x and D0 of y as one long, four long words per cycle: the layout of an ``r`` reduction (SDM 3.5.8.20)."""

    def body(step: Step) -> None:
        for _, row in _four_cycles(step, ("out", "x", "y")):
            high = row["x"].load("i64", GROUP) & ~0xFFFFFFFF
            low = row["y"].load("i64", GROUP) >> 32
            row["out"].store(high | low)

    return kernel("join_halves", ("out", "x", "y"), body)


@cached_per_machine()
def join_half_quads() -> Kernel:
    """`join_halves` for the long words of a quad-wise reduction."""

    def body(step: Step) -> None:
        for _, row in _four_cycles(step, ("out", "x", "y")):
            for quad in range(_quads()):
                high = row["x"].at(32 * quad).load("i64", GROUP) & ~0xFFFFFFFF
                low = row["y"].at(32 * quad).load("i64", GROUP) >> 32
                row["out"].at(32 * quad).store(high | low)

    return kernel("join_half_quads", ("out", "x", "y"), body)


@cached_per_machine()
def store_flags(masked: str | None) -> Kernel:
    """Write flag nibbles, a byte per PE and cycle. With "mask": bits under a 0 mask bit become 0 (OPEN-14)."""
    names = ("out", "x", "mask") if masked else ("out", "x")

    def body(step: Step) -> None:
        for _, row in _four_cycles(step, names):
            value = row["x"].load("i8", pes())
            if masked:
                value = value & row["mask"].load("i8", pes())
            row["out"].store(value)

    return kernel("flags_masked" if masked else "flags", names, body)


@cached_per_machine()
def l2bm_run(longs: int, share: int, l1bs: int, *, up: bool, width: int) -> Kernel:
    """Long words between L2BM and L1BM in the L1Bs of a set: `longs` in every cycle, from (or, `up`, to) the place that
    the L1B has in L2BM, `share` long words behind that of the `l1bs` L1Bs before it. `width`: bits of the number of
    an L1B in its L2B.

    The block stride of `far` is that between L2BMs; `members` has a bit for every L1B of the set.
    """

    def body(step: Step) -> None:
        l1b = step.block & ((1 << width) - 1)
        member = (step.scalar("members", 0) >> l1b) & 1
        with step.builder.when(member.compare("ne", 0)):
            for cycle in range(4):
                far = step.row_of("far", cycle, step.block >> width)
                far, near = far.at((l1b >> (l1bs.bit_length() - 1)) * (8 * share)), step.row("near", cycle)
                source, target = (near, far) if up else (far, near)
                for first in range(0, longs, 8):
                    target.at(8 * first).store(source.at(8 * first).load("i64", 8))

    return kernel(f"l2bm_{'up' if up else 'down'}_{longs}_{share}_{l1bs}_{width}", ("near", "far", "members"), body)
