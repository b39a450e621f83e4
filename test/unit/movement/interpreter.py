"""A direct interpreter of `MachineOp`s: every operation at once on numpy arrays of the whole chip.

It executes a program in the order written, one operation after the other, without steps, hazards or ports. Formulas are
those of the transfer tables (SDM 3.5.8, 3.6.7, 3.6.8), written out per long word and not taken from the planner.
"""

import numpy as np

from mnc.mncore_backend.assembly.records import Memory, Operand
from mnc.mncore_backend.program import Buffer, BufferOperand, MachineOp, Program

CHIP = (8, 8, 16, 4)
WORDS = {Memory.LM0: 4096, Memory.LM1: 4096, Memory.GRF0: 512, Memory.GRF1: 512}
LONGS = {Memory.L1BM: 8192, Memory.L2BM: 32768, Memory.PDM: 1 << 17, Memory.DRAM: 1 << 19}


def allocate_by_bumping(program: Program, keep: tuple[Buffer, ...] = ()) -> None:
    """First fit over lifetimes, buffer by buffer; the first memory that has room. Buffers of `keep`, pinned and unused
    ones live throughout."""
    life: dict[int, list[int]] = {}
    for number, op in enumerate(program.operations):
        for operand in (*op.sources, *op.destinations):
            if isinstance(operand, BufferOperand):
                life.setdefault(id(operand.buffer), [number, number])[1] = number
    placed: list[tuple[Buffer, int, int]] = []
    for buffer in program.buffers:
        always = buffer.pinned or buffer in keep or id(buffer) not in life
        first, last = (0, len(program.operations)) if always else life[id(buffer)]
        busy = [p for p in placed if p[1] <= last and first <= p[2]]
        for memory in buffer.choices:
            limit = WORDS[memory] // 2 if memory in WORDS else LONGS[memory]
            base = 0
            for other, _, _ in sorted((p for p in busy if p[0].memory is memory), key=lambda p: p[0].base or 0):
                assert other.base is not None
                if base + buffer.size <= other.base:
                    break
                base = max(base, -(-(other.base + other.size) // buffer.alignment) * buffer.alignment)
            if base + buffer.size <= limit:
                buffer.memory, buffer.base = memory, base
                placed.append((buffer, first, last))
                break
        else:
            raise AssertionError(f"{buffer.name} of {buffer.size} fits none of {buffer.choices}")


class Interpreter:
    """State of the chip: 32-bit words in PE memories, 64-bit long words above. Starts with noise."""

    def __init__(self) -> None:
        noise = np.uint64(0xBAD0BAD1BAD2BAD3)
        self.pe = {m: np.full((*CHIP, n), np.uint32(0xBADBAD)) for m, n in WORDS.items()}
        self.t = np.zeros((*CHIP, 4, 4), np.uint32)
        self.masks = np.zeros((*CHIP, 32, 4), np.uint8)  # 1: write (all four bits of a cycle alike)
        self.l1bm = np.full((8, 8, LONGS[Memory.L1BM]), noise)
        self.turnaround = np.full((8, 8, 256), noise)
        self.l2bm = np.full((8, LONGS[Memory.L2BM]), noise)
        self.offchip = {m: np.full((4, LONGS[m]), noise) for m in (Memory.PDM, Memory.DRAM)}
        self.banks = {m: np.zeros((8, 8, 16, 8, 8), np.uint32) for m in (Memory.MATRIX_X, Memory.MATRIX_Y)}

    # Buffers --------------------------------------------------------------------------------------------------------

    def poke(self, buffer: Buffer, words: np.ndarray) -> None:
        assert buffer.memory is not None and buffer.base is not None
        self.pe[buffer.memory][..., 2 * buffer.base : 2 * buffer.base + words.shape[-1]] = words

    def peek(self, buffer: Buffer) -> np.ndarray:
        assert buffer.memory is not None and buffer.base is not None
        return self.pe[buffer.memory][..., 2 * buffer.base : 2 * (buffer.base + buffer.size)]

    def write_dram(self, buffer: Buffer, contents: dict[int, np.ndarray]) -> None:
        assert buffer.base is not None
        for g, longs in contents.items():
            self.offchip[Memory.DRAM][g, buffer.base : buffer.base + len(longs)] = longs

    def read_dram(self, buffer: Buffer) -> dict[int, np.ndarray]:
        assert buffer.base is not None
        end = buffer.base + buffer.size
        return {g: self.offchip[Memory.DRAM][g, buffer.base : end] for g in range(4)}

    # Execution ------------------------------------------------------------------------------------------------------

    def run(self, program: Program) -> None:
        for op in program.operations:
            self.step(op)

    def step(self, op: MachineOp) -> None:
        sources = [o.resolve() if isinstance(o, BufferOperand) else o for o in op.sources]
        targets = [o.resolve() if isinstance(o, BufferOperand) else o for o in op.destinations]
        if op.opcode.startswith("mv"):
            self.move(op, sources[0], targets[0])
        elif op.opcode.startswith("l2bm"):
            self.level2(op, sources[0], targets[0])
        elif op.opcode.startswith("l1bm"):
            self.level1(op, sources[0], targets[0])
        elif op.opcode == "gmwrite":
            self.matrix_write(sources[0], targets[0])
        elif op.opcode == "gmread":
            self.matrix_read(sources[0], targets[0])
        else:
            self.arithmetic(op, sources, targets)

    # PE operands: arrays [8, 8, 16, 4, cycle, D0..D3] ----------------------------------------------------------------

    def read(self, operand: Operand) -> np.ndarray:
        out = np.zeros((*CHIP, 4, 4), np.uint32)
        fixed = {
            Memory.L2BID: np.arange(8).reshape(8, 1, 1, 1),
            Memory.L1BID: np.arange(8).reshape(1, 8, 1, 1),
            Memory.MABID: np.arange(16).reshape(1, 1, 16, 1),
            Memory.SUBPEID: np.arange(4).reshape(1, 1, 1, 4),
            Memory.PEID: np.arange(64).reshape(1, 1, 16, 4),
        }
        if operand.memory in fixed:
            out[:] = fixed[operand.memory][..., None, None]
            return out
        if operand.memory is Memory.T:
            return self.t.copy()
        memory = self.pe[operand.memory]
        for c, address in enumerate(operand.addresses()):
            assert address % operand.width == 0, operand
            if operand.t_indirect:
                index = (address + self.t[..., c, 1].astype(np.int64)) % 4096 // operand.width * operand.width
                for w in range(operand.width):
                    out[..., c, w] = np.take_along_axis(memory, index[..., None] + w, axis=-1)[..., 0]
            else:
                out[..., c, : operand.width] = memory[..., address : address + operand.width]
        return out

    def write(self, operand: Operand, value: np.ndarray, flags: np.ndarray | None = None) -> None:
        if operand.memory is Memory.NOWRITE:
            return
        if operand.memory is Memory.MASK:
            assert flags is not None
            self.masks[..., operand.address, :] = flags
            return
        if operand.memory is Memory.T:
            self.t[:] = value
            return
        memory = self.pe[operand.memory]
        for c, address in enumerate(operand.addresses()):
            enabled = np.ones(CHIP, bool)
            if operand.mask is not None and operand.mask.pattern is not None:
                enabled &= operand.mask.pattern[c] == "1"
            if operand.mask is not None and operand.mask.entry is not None:
                enabled &= self.masks[..., operand.mask.entry, c] == 1
            assert address % operand.width == 0, operand
            cell = memory[..., address : address + operand.width]
            cell[enabled] = value[..., c, : operand.width][enabled]

    # Transfers ------------------------------------------------------------------------------------------------------

    def level1(self, op: MachineOp, source: Operand, target: Operand) -> None:
        down = source.memory in (Memory.L1BM, Memory.TURNAROUND)
        upper = source if down else target
        turning = upper.memory is Memory.TURNAROUND
        l1bm = self.turnaround if turning else self.l1bm
        halves = 2 if upper.width == 4 else 1
        kind = op.opcode if not op.opcode.startswith("l1bmr") else ("l1bmr4" if op.opcode[5] == "4" else "l1bmr")
        m, p = np.meshgrid(np.arange(16), np.arange(4), indexing="ij")
        shift = int(op.modifier) if kind == "l1bmd" and op.modifier else 0
        if turning and not down:
            shift = 0  # the register holds the values unshifted
        value = np.zeros((*CHIP, 4, 4), np.uint32) if down else self.read(source)
        for c in range(4):
            for h in range(halves):
                if kind == "l1bmd":
                    at = 64 * c + 4 * ((m - shift) % 16 if down else (m + shift) % 16) + p
                elif kind in ("l1bmm4", "l1bmr4"):
                    at = 16 * halves * c + 4 * halves * (m >> 2) + 4 * h + p
                elif kind in ("l1bmm", "l1bmr"):
                    at = 4 * halves * c + 4 * h + p
                else:
                    assert kind == "l1bmp"
                    at = c + 4 * h + 0 * m
                at = upper.address + at
                if down:
                    longs = l1bm[:, :, at]
                    value[..., c, 2 * h] = longs >> np.uint64(32)
                    value[..., c, 2 * h + 1] = longs & np.uint64(0xFFFFFFFF)
                    continue
                longs = value[..., c, 2 * h].astype(np.uint64) << np.uint64(32) | value[..., c, 2 * h + 1]
                if kind == "l1bmd":
                    l1bm[:, :, at] = longs
                elif kind == "l1bmm":
                    l1bm[:, :, at[0]] = longs[:, :, int(op.modifier[1:])]
                elif kind == "l1bmm4":
                    chosen = np.arange(4) * 4 + int(op.modifier[1:])
                    l1bm[:, :, at[chosen]] = longs[:, :, chosen]
                elif kind == "l1bmr":
                    l1bm[:, :, at[0]] = reduce_longs(op.opcode[5:], longs, 2)
                else:
                    by_quad = longs.reshape(8, 8, 4, 4, 4)
                    l1bm[:, :, at[::4]] = reduce_longs(op.opcode[6:], by_quad, 3)
        if down:
            self.write(target, value)

    def level2(self, op: MachineOp, source: Operand, target: Operand) -> None:
        a, b = source.address, target.address
        for c in range(4):
            if op.opcode == "l2bmb":
                for k in l1b_set(op.modifier):
                    self.l1bm[:, k, b + 16 * c : b + 16 * c + 16] = self.l2bm[:, a + 16 * c : a + 16 * c + 16]
            elif op.opcode == "l2bmd" and source.memory is Memory.L2BM:
                for k in l1b_set(op.modifier):
                    at = a + 64 * c + 8 * k
                    self.l1bm[:, k, b + 8 * c : b + 8 * c + 8] = self.l2bm[:, at : at + 8]
            elif op.opcode == "l2bmd":
                for k in range(8):
                    at = b + 64 * c + 8 * k
                    self.l2bm[:, at : at + 8] = self.l1bm[:, k, a + 8 * c : a + 8 * c + 8]
            elif op.opcode == "l2bm":
                k = int(op.modifier[1:])
                self.l2bm[:, b + 16 * c : b + 16 * c + 16] = self.l1bm[:, k, a + 16 * c : a + 16 * c + 16]
            elif op.opcode == "l2bmi":
                free = int(op.modifier.partition("/")[2] or 0)
                for giver in l1b_set(op.modifier):
                    for k in (k for k in range(8) if k & free == giver & free):
                        at = b + 16 * c
                        self.l1bm[:, k, at : at + 16] = self.l1bm[:, giver, a + 16 * c : a + 16 * c + 16]
            else:
                assert op.opcode.startswith("l2bmr"), op.opcode
                chosen = self.l1bm[:, l1b_set(op.modifier), a + 16 * c : a + 16 * c + 16]
                self.l2bm[:, b + 16 * c : b + 16 * c + 16] = reduce_longs(op.opcode[5:], chosen, 1)

    def move(self, op: MachineOp, source: Operand, target: Operand) -> None:
        n, a, b = op.size, source.address, target.address
        assert n > 0 and n % 64 == 0, op
        kind = op.opcode
        if kind == "mvp":
            for g in range(4):
                for g2 in range(4) if source.group is not None and target.group is not None else [g]:
                    if source.group in (None, g) and target.group in (None, g2):
                        self.row(target, g2)[b : b + n] = self.row(source, g)[a : a + n]
            return
        if kind == "mvd":
            offset = np.arange(n)
            for L in range(8):
                pdm = a if source.memory is Memory.PDM else b
                at = pdm + 128 * (offset // 16) + 16 * L + offset % 16
                g = source.group if source.memory is Memory.PDM else target.group
                if source.memory is Memory.PDM:
                    self.l2bm[L, b : b + n] = self.offchip[Memory.PDM][g, at]
                else:
                    self.offchip[Memory.PDM][g, at] = self.l2bm[L, a : a + n]
            return
        if kind.startswith("mvr") and target.memory is Memory.DRAM:
            self.reduce_to_dram(kind, n, a, b)
            return
        if kind.startswith("mvr"):
            self.offchip[Memory.PDM][target.group, b : b + n] = reduce_longs(kind[3:], self.l2bm[:, a : a + n], 0)
            return
        if kind == "mvb" and source.memory is Memory.PDM:
            self.l2bm[:, b : b + n] = self.offchip[Memory.PDM][source.group, a : a + n]
            return
        dram = self.offchip[Memory.DRAM]
        offset = np.arange(n)
        u, s, j = offset // 64, offset // 16 % 4, offset % 16
        for L in range(8):
            if kind == "mvb2":
                self.l2bm[L, b : b + n] = dram[L >> 1, a : a + n]
            elif kind == "mvb4":
                self.l2bm[L, b : b + n] = dram[s, a + 32 * u + 16 * (L & 1) + j]
            else:
                assert kind == "mvb", kind
                self.l2bm[L, b : b + n] = dram[s, a + 16 * u + j]

    def reduce_to_dram(self, kind: str, n: int, a: int, b: int) -> None:
        """The inverses of mvb, mvb2 and mvb4, over the L2BMs that these fill alike."""
        dram, offset = self.offchip[Memory.DRAM], np.arange(n)
        u, s, j = offset // 64, offset // 16 % 4, offset % 16
        longs = self.l2bm[:, a : a + n]
        if kind.startswith("mvr2"):
            for g in range(4):
                dram[g, b : b + n] = reduce_longs(kind[4:], longs[2 * g : 2 * g + 2], 0)
        elif kind.startswith("mvr4"):
            for half in range(2):
                dram[s, b + 32 * u + 16 * half + j] = reduce_longs(kind[4:], longs[half::2], 0)
        else:
            dram[s, b + 16 * u + j] = reduce_longs(kind[3:], longs, 0)

    def row(self, operand: Operand, g: int) -> np.ndarray:
        if operand.memory is Memory.L2BM:
            assert operand.l2b is not None
            return self.l2bm[2 * g + operand.l2b]
        return self.offchip[operand.memory][g]

    # Units ----------------------------------------------------------------------------------------------------------

    def matrix_write(self, source: Operand, target: Operand) -> None:
        value = self.read(source)
        for c in range(4):
            self.banks[target.memory][..., (target.address + c) % 8, :] = value[..., c, :2].reshape(8, 8, 16, 8)

    def matrix_read(self, source: Operand, target: Operand) -> None:
        value = np.zeros((*CHIP, 4, 4), np.uint32)
        for c in range(4):
            column = self.banks[source.memory][..., :, (source.address + c) % 8]
            value[..., c, :2] = column.reshape(8, 8, 16, 4, 2)
        self.write(target, value)

    def arithmetic(self, op: MachineOp, sources: list[Operand], targets: list[Operand]) -> None:
        reads = [o.memory for o in sources if o.memory in WORDS]
        assert len(set(reads)) == len(reads) or len({s.addresses() for s in sources}) == 1, "two reads of one memory"
        flags = None
        if op.opcode in ("imm", "immu"):
            assert op.literal is not None and op.literal.kind in ("i", "ui")
            value = np.full((*CHIP, 4, 4), int(op.literal.text, 0) & 0xFFFFFFFF, np.uint32)
        elif op.opcode == "zero":
            value = np.zeros((*CHIP, 4, 4), np.uint32)
        else:
            inputs = [self.read(o) for o in sources]
            value, flags = alu(op.opcode, *inputs)
        if op.zero_flush is not None:
            value = np.where(self.masks[..., op.zero_flush.entry, :, None] == 1, value, np.uint32(0))
        for target in targets:
            self.write(target, value, flags)


def l1b_set(modifier: str) -> list[int]:
    if not modifier:
        return list(range(8))
    first, _, free = modifier[1:].partition("/")
    keep = ~int(free or 0) & 7
    return [b for b in range(8) if b & keep == int(first) & keep]


def reduce_longs(kind: str, longs: np.ndarray, axis: int) -> np.ndarray:
    words = np.stack([longs >> np.uint64(32), longs & np.uint64(0xFFFFFFFF)], -1).astype(np.uint32)
    functions = {"ffadd": np.add, "fmax": np.maximum, "fmin": np.minimum}
    if kind in functions:
        result = functions[kind].reduce(words.view(np.float32), axis=axis).view(np.uint32)
    else:
        integer = {"iiadd": np.add, "ibor": np.bitwise_or, "lbor": np.bitwise_or}
        result = integer[kind].reduce(words, axis=axis, dtype=np.uint32)
    return result[..., 0].astype(np.uint64) << np.uint64(32) | result[..., 1]


def longs_of(value: np.ndarray) -> np.ndarray:
    return value[..., 0].astype(np.uint64) << np.uint64(32) | value[..., 1]


def alu(opcode: str, x: np.ndarray, y: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    result = x.copy()
    if opcode in ("lpassa", "ipassa"):
        return result, None
    if opcode in ("msl", "msr"):
        result[..., :2] = np.roll(x[..., :2], 1 if opcode == "msl" else -1, axis=3)
        return result, None
    assert y is not None, opcode
    a, b = x[..., :2], y[..., :2]
    if opcode in ("fvadd", "fmax", "fmin"):
        function = {"fvadd": np.add, "fmax": np.maximum, "fmin": np.minimum}[opcode]
        result[..., :2] = function(a.view(np.float32), b.view(np.float32)).view(np.uint32)
        return result, None
    if opcode in ("lbsl", "lbsr", "ullsr", "llsl"):
        wide, amount = longs_of(x), longs_of(y) % np.uint64(128)
        assert (amount < 64).all() or opcode in ("lbsl", "lbsr")
        amount %= np.uint64(64)
        back = (np.uint64(64) - amount) % np.uint64(64)
        wide = {
            "lbsl": wide << amount | wide >> back,
            "lbsr": wide >> amount | wide << back,
            "ullsr": wide >> amount,
            "llsl": wide << amount,
        }[opcode]
        result[..., 0], result[..., 1] = wide >> np.uint64(32), wide & np.uint64(0xFFFFFFFF)
        return result, None
    if opcode == "uilsr":
        result[..., :2] = a >> b % 64
        return result, None
    integer = {
        "ior": np.bitwise_or,
        "lor": np.bitwise_or,
        "iand": np.bitwise_and,
        "land": np.bitwise_and,
        "ixor": np.bitwise_xor,
        "lxor": np.bitwise_xor,
        "iadd": np.add,
        "isub": np.subtract,
        "ilsl": np.left_shift,
        "ilsr": np.right_shift,
    }
    result[..., :2] = integer[opcode](a, b)
    zero = (result[..., :2] == 0).all(axis=-1) if opcode[0] == "l" else result[..., 0] == 0
    return result, zero.astype(np.uint8)
