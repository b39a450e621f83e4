"""What the host hands to a machine: bits arrive as they are; what a machine does not have is refused with a hint."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.emulator import Machine
from mnc.mncore_backend.emulator.snapshot import Snapshot

LAST_PDM = (1 << 19) - 1


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


def test_integers_are_bits(machine: Machine) -> None:
    signed = np.array([-1, -(1 << 63)])
    for values in ([-1, 1 << 63], [(1 << 64) - 1, -(1 << 63)], signed, signed.astype(">i8")):
        machine.write_dram(1, 5, values)
        machine.write_pdm(2, LAST_PDM - 1, values)
        machine.poke(Memory.LM0, 2046, values)
        upper = machine.read_dram(1, 5, 2), machine.read_pdm(2, LAST_PDM - 1, 2)
        for found in (*upper, machine.lm(0)[7, 7, 15, 3, -2:]):
            assert [hex(value) for value in found] == ["0x" + 16 * "f", "0x8" + 15 * "0"]
    machine.poke_words(Memory.LM0, 0, [-1, 1 << 31])
    assert machine.lm(0)[3, 2, 1, 0, 0] == 0xFFFFFFFF80000000
    machine.poke(Memory.LM0, 0, 7)
    assert machine.peek_words(Memory.LM0, 1, 1)[3, 2, 1, 0].tolist() == [7]
    machine.write_pdm(0, 0, [])
    assert machine.read_pdm(0, LAST_PDM + 1, 0).size == 0


def test_the_hints_about_floats_give_their_bits(machine: Machine) -> None:
    """Singles are two in a long word, the first in its upper half."""
    machine.write_pdm(0, 0, np.array([1, -2, 0.5, 3], np.float32).astype(">f4").view(">u8"))
    assert [hex(value) for value in machine.read_pdm(0, 0, 2)] == ["0x3f800000c0000000", "0x3f00000040400000"]
    machine.write_pdm(0, 0, np.array([1.0]).view(np.uint64))
    assert machine.read_pdm(0, 0, 1)[0] == 0x3FF0000000000000


def test_a_machine_has_a_name() -> None:
    assert Machine(target="small").target.name == "small"


def test_dram_wraps(machine: Machine) -> None:
    machine.write_dram(3, (1 << 29) - 1, [11, 12])
    assert machine.read_dram(3, -1, 2).tolist() == machine.read_dram(3, (1 << 30) - 1, 2).tolist() == [11, 12]


NUMBERS: dict[str, tuple[Callable[[Machine], object], str]] = {
    "mode": (lambda _: Machine("fast"), "mode is 'strict' or 'vendor', not 'fast'"),
    "no threads": (lambda _: Machine(threads=0), "the number of threads is 0"),
    "threads": (lambda _: Machine(threads=-1), "the number of threads is -1"),
    "dirty": (lambda _: Machine("vendor", dirty=-1), "the seed of random words is -1"),
    "dirty strict": (lambda _: Machine(dirty=1), "random words in memory are for vendor mode"),
    "target": (lambda _: Machine(target="smal"), "there is no machine 'smal'"),
    "group": (lambda m: m.write_dram(4, 0, [1]), "the group is 4"),
    "last group": (lambda m: m.read_dram(-1, 0, 1), "the group is -1"),
    "group of PDM": (lambda m: m.read_pdm(-1, 0, 1), "the group is -1"),
    "group of poison": (lambda m: m.dram_poison(4, 0, 1), "the group is 4"),
    "count": (lambda m: m.read_dram(0, 0, -1), "the count of long words is -1"),
    "all of DRAM": (lambda m: m.read_dram(0, 0, 1 << 50), "the count of long words is"),
    "beyond PDM": (lambda m: m.write_pdm(0, LAST_PDM + 1, [1]), "a run of 1 from long word 524288 on leaves PDM"),
    "over PDM": (lambda m: m.read_pdm(0, LAST_PDM, 2), "a run of 2 from long word 524287 on leaves PDM"),
    "before PDM": (lambda m: m.write_pdm(0, -1, [1]), "the address in PDM, in long words, is -1"),
    "beyond LM": (lambda m: m.poke(Memory.LM0, 2047, [1, 2]), "leaves LM0, which ends with long word 2047"),
    "words of LM": (lambda m: m.peek_words(Memory.LM0, 4095, 2), "leaves LM0, which ends with word 4095"),
    "LM": (lambda m: m.lm(-1), "the number of the LM is -1"),
    "GRF": (lambda m: m.grf(2), "the number of the GRF is 2"),
    "singles": (lambda m: m.write_dram(0, 0, np.ones(2, np.float32)), "the values are float32"),
    "a float": (lambda m: m.poke(Memory.LM0, 0, [1, 1.5]), "the values are of type float"),
    "words of floats": (lambda m: m.poke_words(Memory.LM0, 0, np.ones(2)), "the values are float64"),
    "65 bits": (lambda m: m.write_pdm(0, 0, [1 << 64]), "18446744073709551616 has more than 64 bits"),
    "33 bits": (lambda m: m.poke_words(Memory.LM0, 0, np.array([1 << 32, 2])), "4294967296 has more than 32 bits"),
    "ragged": (lambda m: m.write_pdm(0, 0, [[1], [1, 2]]), "the values are no array"),
    "shape": (lambda m: m.poke(Memory.LM0, 0, np.zeros((3, 4), np.uint64)), "values of shape [3, 4] do not fit"),
    "odd words": (lambda m: m.poke_words(Memory.LM0, 0, [1]), "an even count"),
    "DRAM": (lambda m: m.longs(Memory.DRAM), "DRAM has no view"),
    "latch": (lambda m: m.longs(Memory.ALUF), "ALUF has no view"),
}  # fmt: skip
TYPES: dict[str, tuple[Callable[[Any], object], str]] = {
    "threads": (lambda _: Machine(threads="2"), "the number of threads is '2'"),  # pyright: ignore[reportArgumentType]
    "target": (lambda _: Machine(target=3), "the target is a value of type int"),  # pyright: ignore[reportArgumentType]
    "output": (lambda _: Machine(output=3), "the output is a value of type int"),  # pyright: ignore[reportArgumentType]
    "memory": (lambda m: m.peek("LM0", 0, 1), "'LM0' is no memory"),
    "address": (lambda m: m.write_dram(0, 1.5, [1]), "the address is 1.5"),
    "text": (lambda m: m.load_text(b"nop"), "a value of type bytes is no text of a program"),
    "program": (lambda m: m.run(3), "a value of type int is no program"),
    "path": (lambda m: m.run(Path("p.vsm")), "is no program"),
    "statements": (lambda m: m.load(["nop"]), "a value of type str is no statement"),
    "stop": (lambda m: m.run_until("3"), "no program stops at '3'"),
    "restore": (lambda m: m.restore(3), "a value of type int is no snapshot"),
    "compare": (lambda m: m.compare(None), "a value of type NoneType is no snapshot"),
}


@pytest.mark.parametrize(("wrong", "words"), [*NUMBERS.values(), *TYPES.values()], ids=[*NUMBERS, *TYPES])
def test_what_no_machine_has_is_refused(wrong: Callable[[Any], object], words: str, machine: Machine) -> None:
    with pytest.raises(CompileError, match=re.escape(words)) as caught:
        wrong(machine)
    assert caught.value.hint and isinstance(caught.value, ValueError)


def test_snapshots_of_dirty_machines_keep_their_random_words(tmp_path: Path) -> None:
    machine = Machine("vendor", dirty=1 << 70)
    wanted = machine.read_dram(2, 12345, 3)
    machine.snapshot().save(tmp_path / "s.npz")
    other = Machine("vendor")
    other.restore(Snapshot.load(tmp_path / "s.npz"))
    assert wanted.any() and np.array_equal(other.read_dram(2, 12345, 3), wanted)


def test_snapshots_are_those_of_the_machine(machine: Machine, tmp_path: Path) -> None:
    small = Machine(target="small").snapshot()
    small.save(tmp_path / "small.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nonsense")
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: machine.restore(small), "the snapshot is of another machine"),
        (lambda: machine.compare(small), "the snapshot is of another machine"),
        (lambda: small.save(3), "a value of type int"),  # pyright: ignore[reportArgumentType]
        (lambda: small.save(tmp_path), "Is a directory"),
    ]
    for name in ("small.npz", "bad.npz", "none", ""):
        wrong.append((lambda name=name: Snapshot.load(tmp_path / name), "as a snapshot"))
    for action, words in wrong:
        with pytest.raises(CompileError, match=words) as caught:
            action()
        assert caught.value.hint and "Errno" not in str(caught.value)
