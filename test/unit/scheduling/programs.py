"""Random programs for the scheduler and the allocator: every unit, latches, masks, matrix banks, transfers."""

from random import Random

from mnc.mncore_backend.assembly.records import Literal, Mask, Memory, Operand
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE, Buffer, Builder, Program, local, upper

NOWHERE = (Operand(Memory.NOWRITE),)
STAGE = 256  # long words of a staging buffer


class ProgramMaker:
    """Writes operations that only read what was written before. `inputs` are to be filled by the test."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.program = Program()
        self.builder = Builder(self.program, "start")
        self.inputs = [self._buffer(f"in{i}", 16, LOCAL_MEMORY, pinned=True) for i in range(2)]
        self.values: list[Buffer] = []
        self.dram = self.program.buffer("image", 4 * STAGE, (Memory.DRAM,), alignment=64, pinned=True)
        self.results = self.program.buffer("results", 4 * STAGE, (Memory.DRAM,), alignment=64, pinned=True)
        self.l1bm = [self.program.buffer(f"l1bm{i}", STAGE, (Memory.L1BM,), alignment=256) for i in range(2)]
        self.l2bm = [self.program.buffer(f"l2bm{i}", STAGE, (Memory.L2BM,), alignment=256) for i in range(2)]
        self.full: set[str] = set()
        self.masks: list[int] = []
        self.t_written = self.bank_written = False

    def _buffer(self, name, size, choices, **extra) -> Buffer:
        return self.program.buffer(name, size, choices, **extra)

    def _operand(self, buffer: Buffer, **extra):
        start = 4 * self.random.randrange(buffer.size // 4)
        if self.random.random() < 0.2:
            return local(buffer, [start + self.random.randrange(4)], **extra)
        return local(buffer, range(start, start + 4), **extra)

    def _new(self) -> Buffer:
        kind = self.random.random()
        choices = REGISTER_FILE if kind < 0.7 else LOCAL_MEMORY if kind < 0.85 else (*REGISTER_FILE, *LOCAL_MEMORY)
        return self.builder.temporary(4, choices, f"v{len(self.program.buffers)}")

    def _any(self) -> Buffer:
        recent = self.values[-12:]
        return self.random.choice([*recent, *self.inputs] if recent else self.inputs)

    def _write(self, opcode, sources, mask=None) -> Buffer:
        made = self._new()
        self.builder.emit(opcode, sources, [local(made, range(4))])
        if mask is not None:  # a masked write comes on top, so that everything is defined
            self.builder.emit("ipassa", [self._operand(self._any())], [local(made, range(4), mask=mask)])
        self.values.append(made)
        return made

    # ---- kinds of operations ----

    def unary(self) -> None:
        mask = None
        if self.masks and self.random.random() < 0.5:
            mask = Mask(entry=self.random.choice(self.masks))
        elif self.random.random() < 0.2:
            mask = Mask(pattern=self.random.choice(["1000", "0110", "1101"]))
        self._write(self.random.choice(["iinc", "inot", "ipassa"]), [self._operand(self._any())], mask)

    def binary(self) -> None:
        a, b = self._any(), self._any()
        if a is b or (len(set(a.choices) | set(b.choices)) < 3 and self._tied(a, b)):
            return self.unary()
        self._emit_binary(a, b)
        return None

    def _tied(self, a: Buffer, b: Buffer) -> bool:
        """Keep conflict graphs of register files two-colourable: pair only by parity of creation."""
        numbers = [self.program.buffers.index(x) for x in (a, b)]
        return (numbers[0] + numbers[1]) % 2 == 0

    def _emit_binary(self, a: Buffer, b: Buffer) -> Buffer:
        made = self.builder.temporary(4, REGISTER_FILE, f"v{len(self.program.buffers)}")
        unit = self.random.choice(["iadd", "isub", "fvadd", "fvmul"])
        self.builder.emit(unit, [self._operand(a), self._operand(b)], [local(made, range(4))])
        self.values.append(made)
        return made

    def flag(self) -> None:
        entry = self.random.randrange(1, 4)
        sources = [self._operand(buffer) for buffer in self.inputs]
        self.builder.emit("imax", sources, [Operand(Memory.MASK, address=entry)])
        self.masks = sorted({*self.masks, entry})

    def immediate(self) -> None:
        made = self.builder.temporary(4, REGISTER_FILE, f"v{len(self.program.buffers)}")
        self.builder.emit("imm", (), [local(made, range(4))], literal=Literal("i", str(self.random.randrange(100))))
        self.values.append(made)

    def chain(self) -> None:
        length = self.random.randrange(2, 5)
        latch = None
        for i in range(length):
            mau = self.random.random() < 0.5
            source = self._operand(self._any()) if latch is None else Operand(latch)
            opcode = "fvpassa" if mau else "iinc"
            if i + 1 == length or self.random.random() < 0.3:
                self._write(opcode, [source])
            else:
                self.builder.emit(opcode, [source], NOWHERE)
            latch = Memory.MAUF if mau else Memory.ALUF

    def fork(self) -> None:
        self.builder.emit("ipassa", [self._operand(self._any())], NOWHERE)
        first, second = (self.builder.temporary(4, (f,), "fork") for f in REGISTER_FILE)
        self.builder.emit("fvpassa", [Operand(Memory.ALUF)], [local(first, range(4))])
        self.builder.emit("iinc", [Operand(Memory.ALUF)], [local(second, range(4))])
        self.values += [first, second]

    def through_t(self) -> None:
        if self.t_written and self.random.random() < 0.6:
            self._write("ipassa", [Operand(Memory.T, 2)])
        else:
            self.builder.emit("ipassa", [self._operand(self._any())], [Operand(Memory.T, 2)])
            self.t_written = True

    def matrix(self) -> None:
        bank = self.random.choice([Memory.MATRIX_X, Memory.MATRIX_Y])
        self.builder.emit("fmwrite", [self._operand(self._any())], [Operand(bank, 2, 0)])
        self.builder.emit("fmwrite", [self._operand(self._any())], [Operand(bank, 2, 4)])
        made = self.builder.temporary(4, REGISTER_FILE, f"v{len(self.program.buffers)}")
        self.builder.emit("fmread", [Operand(bank, 2, 4 * self.random.randrange(2))], [local(made, range(4))])
        self.values.append(made)

    def load(self) -> None:
        stage = self.random.choice(self.l2bm)
        slot = self.random.randrange(4)
        self.builder.emit("mvb2", [upper(self.dram, STAGE * slot)], [upper(stage)], size=STAGE)
        self.full.add(stage.name)

    def down(self) -> None:
        sources = [b for b in self.l2bm if b.name in self.full]
        if not sources:
            return self.load()
        target = self.random.choice(self.l1bm)
        for block in range(STAGE // 64):
            self.builder.emit("l2bmb", [upper(self.random.choice(sources), 64 * block)], [upper(target, 64 * block)])
        self.full.add(target.name)
        return None

    def to_pe(self) -> None:
        sources = [b for b in self.l1bm if b.name in self.full]
        if not sources:
            return self.down()
        kind = self.random.choice(["l1bmd", "l1bmm", "l1bmp"])
        offset = 0 if kind == "l1bmd" else 16 * self.random.randrange(8)
        made = self._new()
        self.builder.emit(kind, [upper(self.random.choice(sources), offset)], [local(made, range(4))])
        if self.random.random() < 0.4:
            self._write("iinc", [Operand(Memory.LBF)])
        self.values.append(made)
        return None

    def to_l1bm(self) -> None:
        target = self.random.choice(self.l1bm)
        self.builder.emit("l1bmd", [self._operand(self._any())], [upper(target)])
        self.full.add(target.name)

    def turnaround(self) -> None:
        self.builder.emit("l1bmriiadd", [self._operand(self._any())], [Operand(Memory.TURNAROUND, 2)])
        if self.random.random() < 0.5:
            self.unary()
        made = self._new()
        self.builder.emit("l1bmm", [Operand(Memory.TURNAROUND, 2)], [local(made, range(4))])
        self.values.append(made)

    def up(self) -> None:
        sources = [b for b in self.l1bm if b.name in self.full]
        if not sources:
            return self.to_l1bm()
        stage = self.random.choice(self.l2bm)
        for block in range(STAGE // 64):
            self.builder.emit("l2bm", [upper(self.random.choice(sources), 64 * block)], [upper(stage, 64 * block)],
                              modifier=f"@{self.random.randrange(8)}")
        self.full.add(stage.name)
        return None

    def store(self) -> None:
        sources = [b for b in self.l2bm if b.name in self.full]
        if not sources:
            return self.load()
        slot = self.random.randrange(4)
        self.builder.emit("mvp", [upper(self.random.choice(sources), l2b=0)], [upper(self.results, STAGE * slot)],
                          size=STAGE)
        return None

    KINDS = ("unary", "binary", "binary", "flag", "immediate", "chain", "fork", "through_t", "matrix", "load", "down",
             "to_pe", "to_pe", "to_l1bm", "turnaround", "up", "store")

    def make(self, count: int) -> Program:
        """Program of `count` random groups of operations."""
        for i in range(count):
            self.builder.location = f"node{i % 5}"
            getattr(self, self.random.choice(self.KINDS))()
        return self.program
