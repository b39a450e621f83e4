"""Random programs for the scheduler and the allocator: every unit, latches, masks, matrix banks, transfers.

Each buffer gets a home at creation, and operands only meet if their homes allow it: so an allocation always exists. The
allocator does not see the homes and has to find one by itself.
"""

from random import Random

from mnc.mncore_backend.assembly.records import Literal, Mask, Memory, Operand
from mnc.mncore_backend.program import (
    LOCAL_MEMORY,
    REGISTER_FILE,
    Buffer,
    BufferOperand,
    Builder,
    Program,
    local,
    upper,
)

NOWHERE = (Operand(Memory.NOWRITE),)
STAGE = 256  # long words of a staging buffer


class ProgramMaker:
    """Writes operations that only read what was written before. `inputs` are to be filled by the test."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.program = Program()
        self.builder = Builder(self.program, "start")
        self.inputs = [self.program.buffer(f"in{i}", 16, LOCAL_MEMORY, pinned=True) for i in range(2)]
        self.home: dict[Buffer, Memory] = dict(zip(self.inputs, LOCAL_MEMORY, strict=True))
        self.values: list[Buffer] = []
        self.dram = self.program.buffer("image", 4 * STAGE, (Memory.DRAM,), alignment=64, pinned=True)
        self.results = self.program.buffer("results", 4 * STAGE, (Memory.DRAM,), alignment=64, pinned=True)
        self.l1bm = [self.program.buffer(f"l1bm{i}", STAGE, (Memory.L1BM,), alignment=256) for i in range(2)]
        self.l2bm = [self.program.buffer(f"l2bm{i}", STAGE, (Memory.L2BM,), alignment=256) for i in range(2)]
        self.full: set[str] = set()
        self.masks: list[int] = []
        self.t_written = self.bank_written = False

    def _operand(self, buffer: Buffer, **extra):
        start = 4 * self.random.randrange(buffer.size // 4)
        if self.random.random() < 0.2:
            return local(buffer, [start + self.random.randrange(4)], **extra)
        return local(buffer, range(start, start + 4), **extra)

    def _new(self, *sources: Buffer) -> Buffer:
        """A buffer that an operation reading `sources` may write."""
        kinds = [(f,) for f in REGISTER_FILE] + [REGISTER_FILE] * 4 + [LOCAL_MEMORY, (*REGISTER_FILE, *LOCAL_MEMORY)]
        taken = {self.home[s] for s in sources} & set(LOCAL_MEMORY)
        choices = self.random.choice(kinds)
        homes = [m for m in choices if m not in taken]
        if not homes:
            choices = homes = REGISTER_FILE
        made = self.builder.temporary(4, choices, f"v{len(self.program.buffers)}")
        self.home[made] = self.random.choice(homes)
        self.values.append(made)
        return made

    def _any(self) -> Buffer:
        recent = self.values[-12:]
        return self.random.choice([*recent, *self.inputs] if recent else self.inputs)

    def _write(self, opcode: str, source: Buffer | Operand, mask: Mask | None = None) -> None:
        """Emit an operation with one source into a new buffer. A masked write comes on top of a plain one, so that
        everything is defined."""
        buffers = [source] if isinstance(source, Buffer) else []
        other = self._any()
        made = self._new(*buffers, other)
        operand = self._operand(source) if isinstance(source, Buffer) else source
        self.builder.emit(opcode, [operand], [local(made, range(4))])
        if mask is not None:
            self.builder.emit("ipassa", [self._operand(other)], [local(made, range(4), mask=mask)])

    # ---- kinds of operations ----

    def unary(self) -> None:
        mask = None
        if self.masks and self.random.random() < 0.5:
            mask = Mask(entry=self.random.choice(self.masks))
        elif self.random.random() < 0.2:
            mask = Mask(pattern=self.random.choice(["1000", "0110", "1101"]))
        self._write(self.random.choice(["iinc", "inot", "ipassa"]), self._any(), mask)

    def binary(self) -> None:
        a, b = self._any(), self._any()
        if self.home[a] is self.home[b]:
            return self.unary()
        opcode = self.random.choice(["iadd", "isub", "fvadd", "fvmul"])
        self.builder.emit(opcode, [self._operand(a), self._operand(b)], [local(self._new(a, b), range(4))])
        return None

    def flag(self) -> None:
        entry = self.random.randrange(1, 4)
        sources = [self._operand(buffer) for buffer in self.inputs]
        self.builder.emit("imax", sources, [Operand(Memory.MASK, address=entry)])
        self.masks = sorted({*self.masks, entry})

    def word(self) -> None:
        """A single word in, a long out: the second word of the input counts as zero."""
        source = self._any()
        first = self._new(source)
        self.builder.emit("inot", [self._operand(source)], [local(first, range(4))])
        narrow = BufferOperand(first, (0, 2, 4, 6), 1)
        self.builder.emit("inot", [Operand(Memory.PEID)], [narrow])
        self.builder.emit("iinc", [narrow], [local(self._new(first), range(4))])

    def masked(self) -> None:
        """Two independent writes under different fixed masks."""
        for pattern in self.random.sample(["1000", "0110", "1101", "0011"], 2):
            made = self._new()
            self.builder.emit("zero", (), [local(made, range(4))])
            opcode = self.random.choice(["iinc", "fvpassa"])
            source = Operand(Memory.T, 2) if self.t_written else local(made, range(4))
            self.builder.emit(opcode, [source], [local(made, range(4), mask=Mask(pattern=pattern))])

    def joined(self) -> None:
        """A chain whose later member also reads a buffer."""
        extra = self._any()
        self.builder.emit("fvpassa", [self._operand(self._any())], NOWHERE)
        self.builder.emit("iadd", [Operand(Memory.MAUF), self._operand(extra)], [local(self._new(extra), range(4))])

    def immediate(self) -> None:
        made = self._new(self.inputs[0])  # not in LM0
        self.builder.emit("imm", (), [local(made, range(4))], literal=Literal("i", str(self.random.randrange(100))))

    def chain(self) -> None:
        length = self.random.randrange(2, 5)
        latch = None
        for i in range(length):
            opcode, result = self.random.choice([("fvpassa", Memory.MAUF), ("iinc", Memory.ALUF)])
            source = self._any() if latch is None else Operand(latch)
            if i + 1 == length or self.random.random() < 0.3:
                self._write(opcode, source)
            else:
                self.builder.emit(opcode, [self._operand(source) if isinstance(source, Buffer) else source], NOWHERE)
            latch = result

    def fork(self) -> None:
        self.builder.emit("ipassa", [self._operand(self._any())], NOWHERE)
        first, second = (self.builder.temporary(4, (f,), f"fork{len(self.program.buffers)}") for f in REGISTER_FILE)
        self.home |= {first: Memory.GRF0, second: Memory.GRF1}
        self.builder.emit("fvpassa", [Operand(Memory.ALUF)], [local(first, range(4))])
        self.builder.emit("iinc", [Operand(Memory.ALUF)], [local(second, range(4))])
        self.values += [first, second]

    def through_t(self) -> None:
        if self.t_written and self.random.random() < 0.6:
            self._write("ipassa", Operand(Memory.T, 2))
        else:
            self.builder.emit("ipassa", [self._operand(self._any())], [Operand(Memory.T, 2)])
            self.t_written = True

    def gather(self) -> None:
        """Through T out of the first input, whose home is LM0."""
        index = Literal("i", str(2 * self.random.randrange(12)))
        self.builder.emit("imm", (), [Operand(Memory.T, 2)], literal=index)
        self.t_written = True
        source = local(self.inputs[0], range(4), t_indirect=True)
        self.builder.emit("ipassa", [source], [local(self._new(self.inputs[0]), range(4))])

    def matrix(self) -> None:
        bank = self.random.choice([Memory.MATRIX_X, Memory.MATRIX_Y])
        self.builder.emit("fmwrite", [self._operand(self._any())], [Operand(bank, 2, 0)])
        self.builder.emit("fmwrite", [self._operand(self._any())], [Operand(bank, 2, 4)])
        column = Operand(bank, 2, 4 * self.random.randrange(2))
        self.builder.emit("fmread", [column], [local(self._new(), range(4))])

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
            self._write("iinc", Operand(Memory.LBF))
        return None

    def to_l1bm(self) -> None:
        target = self.random.choice(self.l1bm)
        self.builder.emit("l1bmd", [self._operand(self._any())], [upper(target)])
        self.full.add(target.name)

    def turnaround(self) -> None:
        self.builder.emit("l1bmriiadd", [self._operand(self._any())], [Operand(Memory.TURNAROUND, 2)])
        if self.random.random() < 0.5:
            self.unary()  # of another unit: it may share a step with either
        made = self._new()
        self.builder.emit("l1bmm", [Operand(Memory.TURNAROUND, 2)], [local(made, range(4))])

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

    KINDS = (
        "unary", "binary", "binary", "word", "masked", "masked", "flag", "immediate", "chain", "joined", "joined",
        "fork", "through_t", "gather", "matrix", "load", "down", "to_pe", "to_pe", "to_l1bm", "turnaround",
        "up", "store",
    )  # fmt: skip

    def make(self, count: int) -> Program:
        """Program of `count` random groups of operations."""
        for i in range(count):
            self.builder.location = f"node{i % 5}"
            getattr(self, self.random.choice(self.KINDS))()
        return self.program
