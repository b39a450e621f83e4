"""Whole random programs on the emulator and on the slow reference, compared word by word."""

import random

import numpy as np
import pytest

from mnc.mncore_backend.assembly.parser import parse_program
from mnc.mncore_backend.assembly.records import MaskSetting, Memory, Step
from mnc.mncore_backend.emulator import Machine

from .reference import Reference

INTEGER = (
    *("passa", "inc", "dec", "not", "lnot", "max", "min", "packbit", "and", "or", "xor"),
    *("add", "sub", "lsl", "lsr", "bsl", "bsr"),
)
UNSIGNED = ("inc", "dec", "max", "min", "add", "sub", "lsr")
FLOAT = (
    *("passa", "max", "min", "packbit", "relu", "relu1", "relu2", "relu3"),
    *("lrelud", "lreluo", "ilrelud", "floor", "ftoi", "rsqrt"),
)
ONE_INPUT = ("passa", "inc", "dec", "not", "lnot", "floor", "ftoi", "rsqrt")
SPECIAL = np.array(
    (
        *(0, 1, 0x80000000, 0x7F800000, 0xFF800000, 0x3F800000, 0xBF800000, 0x00800000, 0x7FFFFFFF, 0xFFFFFFFF),
        *(0x7E00FE00, 0x3E003E00, 0x7FF00000, 0x3FF00000),
    ),
    np.uint32,
)


def writes_apart(line: str) -> bool:
    """No two expressions of a step write the same memory (SDM 3.6.4)."""
    (step,) = parse_program(line)
    assert isinstance(step, Step)
    written = [d.memory for e in step.expressions for d in e.destinations if d.memory is not Memory.NOWRITE]
    return len(written) == len(set(written))


class Writer:
    """Random lines. Addresses stay in the first 64 words so that results meet again; bias towards special values comes
    from the initial contents."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def memory(self, letters: str, width: str) -> str:
        """A PE memory operand."""
        w = {"": 1, "l": 2, "ll": 4}[width]
        letter = self.random.choice(letters)
        at = [self.random.randrange(64 // w) * w for _ in range(4)]
        form = self.random.randrange(8)
        if letter == "m" and form == 0:
            return f"${width}mt{at[0]}v{w}"
        if letter in "mn" and form == 1:
            return f"${width}{letter}{at[0]}vj{self.random.randrange(4)}".replace("vj", f"v{w}j")
        if form == 2:
            return f"${width}{letter}[{','.join(map(str, at))}]"
        if form == 3:
            return f"${width}{letter}{at[0]}"
        if form == 4:
            return f"${width}{letter}{at[0]}v{w * self.random.randrange(1, 4)}"
        return f"${width}{letter}{at[0]}v"

    def source(self, width: str = "l", latches: bool = True) -> str:
        """Any source of an ALU or MAU operation."""
        kind = self.random.randrange(6)
        if kind == 0 and latches:
            return self.random.choice(["$mauf", "$aluf"])
        return "$t" if kind == 1 else self.memory("mnrs", width)

    def destinations(self) -> str:
        """One to three destinations in different memories, perhaps masked; all masks of a step are the same."""
        mask = self.random.choice(["", "", "", "/1010", "/ll0110", "/$imr3", "/$llimr3"])
        if self.random.random() < 0.1:
            return "$nowrite"
        letters = self.random.sample("mnrst", self.random.randrange(1, 4))
        parts = []
        for letter in letters:
            width = self.random.choice(["", "l", "l", "ll"])
            parts.append(("$t" if letter == "t" else self.memory(letter, width)) + mask)
        if self.random.random() < 0.3:
            parts.append(f"$omr{self.random.choice([3, 4])}")
        return " ".join(parts)

    def flush(self) -> str:
        """A zero-flush suffix, rarely."""
        return self.random.choice([""] * 8 + ["/0101", "/$imr4", "/$llimr4"])

    def alu(self) -> str:
        """An element-wise ALU line."""
        precision = self.random.choice("dfhlis")
        op = self.random.choice(FLOAT if precision in "dfh" else INTEGER)
        unsigned = self.random.choice(["", "u"]) if (op == "ftoi" or (precision in "lis" and op in UNSIGNED)) else ""
        width = self.random.choice(["", "l", "ll"])
        x = self.source(width)
        if self.random.random() < 0.1:
            narrowed = self.source("ll", False) + "r" * (precision == "h")
            x = self.random.choice(["$subpeid", "$msb1"]) if precision in "lis" else narrowed
        inputs = x if op in ONE_INPUT else f"{x} {self.source(width)}"
        return f"{unsigned}{precision}{op}{self.flush()} {inputs} {self.destinations()}"

    def sign(self) -> str:
        """A minus sign, sometimes."""
        return self.random.choice(["", "", "-"])

    def vector(self) -> str:
        """A MAU vector line."""
        precision = self.random.choice("dffhh")
        op = self.random.choice(["fma", "mul", "add", "passa"])
        half = self.random.choice("ud") if precision == "d" and op in ("fma", "mul") else ""
        narrow = self.random.choice(["", "r"])
        product = []
        for _ in range({"fma": 2, "mul": 2}.get(op, 1)):
            narrows = precision == "h" and self.random.random() < 0.3
            product.append(f"{self.sign()}{self.source('ll')}r" if narrows else f"{self.sign()}{self.source('l')}")
        addend = []
        if op in ("fma", "add"):
            if self.random.random() < 0.4:
                addend = [f"{self.sign()}{self.source('l' if precision == 'h' else '')}e"]
            else:
                addend = [f"{self.sign()}{self.source('ll' if precision == 'h' else 'l')}"]
        return f"{precision}v{op}{half}{narrow}{self.flush()} {' '.join(product + addend)} {self.destinations()}"

    def matrix(self) -> list[str]:
        """Fill a bank with block-float rows and multiply."""
        precision, bank = self.random.choice("dfgh"), self.random.choice("xy")
        bfn = f"{precision}bfn" if precision != "h" else self.random.choice(["hbfn/9", "hbfn/7", "hbfe/9"])
        count = {"d": 1, "f": 2, "g": 2, "h": 4}[precision]
        lines = []
        for i in range(count):
            lines.append(f"{bfn} {self.source('ll' if precision == 'h' else 'l', False)} $nowrite")
            lines.append(f"{precision}mwrite $aluf $l{bank}{4 * i}")
        half = self.random.choice("ud") if precision == "d" else ""
        fill = f"{bfn.replace('hbfe', 'hbfn')} {self.source('l', False)} $nowrite"
        source = self.source("ll" if precision == "h" else "l", False)
        narrow = self.random.choice(["", "r"])
        lines += [fill, f"{precision}mfma{half}{narrow} $l{bank} $aluf {self.sign()}{source} {self.destinations()}"]
        lines += [fill, f"{precision}mmul{half} $l{bank} $aluf {self.destinations()}"]
        column = f"$l{'l' if precision == 'h' else ''}{bank}{2 * self.random.randrange(count)}"
        lines.append(f"{precision}mread {column} {self.unflagged()}")
        lines.append(f"lpassa $mreadf {self.destinations()}")
        return lines

    def program(self, length: int) -> str:
        """Lines of all kinds, steps with two units and noforward among them."""
        lines: list[str] = []
        while len(lines) < length:
            kind = self.random.randrange(10)
            if kind < 4:
                lines.append(self.alu())
            elif kind < 7:
                lines.append(self.vector())
            elif kind == 7:
                lines += self.matrix()
            elif kind == 8:
                lines.append(f"{self.random.choice(['msl', 'msr'])} {self.source('ll')} {self.unflagged()}")
                lines.append("nop")
            else:
                parts = [self.vector(), self.alu()] + ["noforward"] * (self.random.random() < 0.4)
                self.random.shuffle(parts)
                if writes_apart("; ".join(parts)):
                    lines.append("; ".join(parts))
        return "\n".join(lines)

    def unflagged(self) -> str:
        """Destinations of an operation without flags."""
        return " ".join(part for part in self.destinations().split() if not part.startswith("$omr")) or "$nowrite"


def initial(seed: int) -> dict[Memory, np.ndarray]:
    """Words with many special values: zeros, infinities, small exponents, integers, equal magnitudes."""
    rng = np.random.default_rng(seed)
    contents = {}
    for memory in (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1):
        words = rng.integers(0, 1 << 32, (4, 256), dtype=np.uint32)
        near_one = (words & np.uint32(0x81FFFFFF)) | np.uint32(0x3E000000)
        special = rng.choice(SPECIAL, (4, 256))
        pick = rng.integers(0, 4, (4, 256))
        contents[memory] = np.where(pick == 0, special, np.where(pick == 1, words, near_one)).astype(np.uint32)
    return contents


def compare(text: str, seed: int) -> None:
    """Run on both and compare all words of one MAB; every MAB must agree."""
    machine, reference = Machine("vendor"), Reference()
    for memory, words in initial(seed).items():
        machine.poke_words(memory, 0, words)
        for pe in range(4):
            reference.memory[memory][pe][:256] = [int(w) for w in words[pe]]
    index = np.random.default_rng(seed).integers(0, 16, (4, 4))  # [cycle][pe]
    for cycle in range(4):
        for pe in range(4):
            reference.t[cycle][pe] = [0, 4 * int(index[cycle, pe]), 0, 0]
            machine.longs(Memory.T)[:, :, :, pe, cycle, 0] = 4 * int(index[cycle, pe])
    for statement in parse_program(text):
        assert not isinstance(statement, MaskSetting)
        if isinstance(statement, Step):
            reference.run(statement)
    machine.run(text)
    rng = np.random.default_rng(seed + 1)
    where = tuple(int(rng.integers(n)) for n in (8, 8, 16))
    for memory, size in ((Memory.LM0, 256), (Memory.LM1, 256), (Memory.GRF0, 256), (Memory.GRF1, 256)):
        everything = machine.peek_words(memory, 0, size)
        got = everything[where]
        expected = np.array([reference.memory[memory][pe][:size] for pe in range(4)], np.uint32)
        assert np.array_equal(got, expected), f"{memory.name}: {np.argwhere(got != expected)[:5].tolist()}"
        assert (everything == got).all()
    for pe in range(4):
        for cycle in range(4):
            t = machine.longs(Memory.T)[(*where, pe, cycle)]
            words = [int(t[0]) >> 32, int(t[0]) & 0xFFFFFFFF, int(t[1]) >> 32, int(t[1]) & 0xFFFFFFFF]
            assert words == reference.t[cycle][pe]
            for entry in (3, 4):
                assert machine.masks()[(*where, pe, entry, cycle)] == reference.masks[entry][cycle][pe]


def test_the_comparison_notices_a_difference(monkeypatch: pytest.MonkeyPatch):
    """A reference with one deliberate mistake must disagree."""
    original = Reference.word_bits

    def wrong(self: Reference, mask, cycle: int, pe: int) -> list[int]:
        bits = original(self, mask, cycle, pe)
        return [bits[0], bits[1], bits[0], bits[1]]

    monkeypatch.setattr(Reference, "word_bits", wrong)
    with pytest.raises(AssertionError):
        for seed in range(4):
            compare(Writer(seed).program(60), seed)


@pytest.mark.parametrize("seed", range(24))
def test_random_program(seed: int):
    compare(Writer(seed).program(60), seed)
