"""Choice of a memory for every operand, so that no operation reads two long words of one memory.

Registers get GRF0, GRF1 or a home in both; the choice is a two-colouring of the graph "read by the same operation".
Constants go where the operation has a free port. What still collides travels through the ALU's forwarding latch by a
copy in the step before. The result is a list of units: placed operations that belong in consecutive steps.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.kernels.math.micro import Instruction, Value
from mnc.mncore_backend.kernels.vector.balance import Price, balanced
from mnc.mncore_backend.kernels.vector.body import Access
from mnc.mncore_backend.kernels.vector.cleanup import registers_read
from mnc.mncore_backend.kernels.vector.colour import chain_dependent_operations, chain_length, two_colour, unchain_alu
from mnc.mncore_backend.kernels.vector.inputs import inputs_to_load, local_memories, memories
from mnc.mncore_backend.kernels.vector.placed import Place, Placed, Unit
from mnc.mncore_backend.program import LOCAL_MEMORY, REGISTER_FILE

_HEAVY = 10  # instructions from which constants of the MAU live in LM1, to leave the GRF ports to the ALU


def units_of(
    instructions: list[Instruction],
    inputs: tuple[Access, ...],
    outputs: list[tuple[Access, Value]],
    floats: Collection[int],
    arrivals: Sequence[int],
    *,
    repeats: bool,
) -> list[Unit]:
    """Units of a kernel, arguments as for `Placer`. Of a kernel that repeats, the cheapest of some placements: with
    chains of the ALU or without (a chain needs no ports for what it hands over, but steps in a row in which all its
    ports are free), and with register files that have equally many registers, or that are read equally often."""
    placers = []
    for weighed, chained in ((False, True), (False, False), (True, True), (True, False)):
        own = [replace(instruction) for instruction in instructions]
        placers.append(Placer(own, inputs, outputs, floats, arrivals, chained=chained, weighed=weighed))
        if not placers[0].heavy or not repeats:
            return placers[0].units
        placers[-1].balance()
    return min(placers, key=lambda placer: placer.price).units


class Placer:
    """Places the instructions of one kernel. `outputs` gives the value of each output access, `floats` the outputs
    that are floating-point numbers, `arrivals` per input when it comes to be there, as a number to compare."""

    def __init__(
        self,
        instructions: list[Instruction],
        inputs: tuple[Access, ...],
        outputs: list[tuple[Access, Value]],
        floats: Collection[int],
        arrivals: Sequence[int],
        *,
        chained: bool,
        weighed: bool,
    ) -> None:
        self._inputs = inputs
        self._outputs = outputs
        self._instructions = self._load_inputs(instructions, arrivals)
        self._outputs = [(access, self._moved_input(value)) for access, value in outputs]
        chain_dependent_operations(self._instructions)
        if not chained:
            unchain_alu(self._instructions)
        self.heavy = len(self._instructions) >= _HEAVY
        self.files = self._colour(weighed)
        self._homeless = self._registers_without_home()
        self.units: list[Unit] = []
        self._direct = self._direct_outputs()
        for instruction in self._instructions:
            self._place(instruction)
        for number, (_, value) in enumerate(self._outputs):
            if number not in self._direct.values():
                copy = Instruction(self._copy_opcode(value, number in floats), (value,))
                self._append(copy, [Place("output", number)])
        self.price: Price = (0, 0)

    def balance(self) -> None:
        """Spread the operands over the memories for short trips, and set `price`."""
        outputs = [access for access, _ in self._outputs]
        reads, writes = (tuple(frozenset(memories(a)) for a in accesses) for accesses in (self._inputs, outputs))
        self.units, self.price = balanced(self.units, reads, writes)

    # ---- preparation ---------------------------------------------------------------------------------------------

    def _load_inputs(self, instructions: list[Instruction], arrivals: Sequence[int]) -> list[Instruction]:
        """Copy inputs into registers before their first use where reading them directly is impossible or busy."""
        top = max((max([*registers_read(i), i.result or 0]) for i in instructions), default=0)
        busy = sorted(inputs_to_load(instructions, self._inputs, self._outputs, arrivals))
        self._loaded = {number: top + 1 + i for i, number in enumerate(busy)}
        result: list[Instruction] = []
        pending = dict(self._loaded)
        for instruction in instructions:
            for source in instruction.sources:
                if source.kind == "input" and source.number in pending:
                    copy = Instruction("ipassa", (Value("input", source.number),), pending.pop(source.number))
                    result.insert(len(result) - chain_length(instruction, result), copy)
            instruction.sources = tuple(self._moved_input(source) for source in instruction.sources)
            result.append(instruction)
        return result + [Instruction("ipassa", (Value("input", n),), register) for n, register in pending.items()]

    def _moved_input(self, value: Value) -> Value:
        if value.kind == "input" and value.number in self._loaded:
            return Value("register", self._loaded[value.number], value.negated)
        return value

    def _colour(self, weighed: bool) -> dict[int, tuple[Memory, ...]]:
        """GRF of every register: neighbours in the conflict graph differ, or one of them has both."""
        neighbours: dict[int, set[int]] = {}
        taken: dict[int, set[Memory]] = {}
        reads: dict[int, int] = {}
        previous: Instruction | None = None
        for instruction in self._instructions:
            latched = previous.result if instruction.chained and previous is not None else None
            read = list(dict.fromkeys(r for r in registers_read(instruction) if r != latched))
            for register in read:
                reads[register] = reads.get(register, 0) + 1
            for register in [*read, *([] if instruction.result is None else [instruction.result])]:
                neighbours.setdefault(register, set())
            if len(read) >= 2:
                neighbours[read[0]].add(read[1])
                neighbours[read[1]].add(read[0])
            for source in instruction.sources:
                if source.kind == "input" and memories(self._inputs[source.number]) & set(REGISTER_FILE):
                    for register in read:
                        taken.setdefault(register, set()).update(memories(self._inputs[source.number]))
            previous = instruction
        return two_colour(neighbours, taken, reads if weighed else {})

    def _direct_outputs(self) -> dict[int, int]:
        """Register -> output that the instruction defining it can write itself."""
        writers: dict[int, int] = {}
        for instruction in self._instructions:
            if instruction.result is not None:
                writers[instruction.result] = writers.get(instruction.result, 0) + 1
        read_buffers = {id(access.buffer) for access in self._inputs}
        direct: dict[int, int] = {}
        for number, (access, value) in enumerate(self._outputs):
            simple = value.kind == "register" and not value.negated and writers.get(value.number) == 1
            if simple and value.number not in direct and self._may_write(value.number, access, read_buffers):
                direct[value.number] = number
        return direct

    def _copy_opcode(self, value: Value, is_float: bool) -> str:
        """The copy of a float goes through the less busy unit. The MAU normalises, so only results of arithmetic,
        maximum and minimum may take it."""
        busy = sum(1 if instruction.is_mau else -1 for instruction in self._instructions)
        writers = [i.opcode for i in self._instructions if value.kind == "register" and i.result == value.number]
        normal = bool(writers) and all(opcode.startswith("fv") or opcode in ("fmax", "fmin") for opcode in writers)
        return "fvpassa" if is_float and normal and busy < 0 else "ipassa"

    def _may_write(self, register: int, access: Access, read_buffers: set[int]) -> bool:
        """An output may be written early unless inputs are still to be read from its buffer, and only by an operation
        that does not read the same local memory at another address (SDM 3.6.4)."""
        index = next(i for i, ins in enumerate(self._instructions) if ins.result == register)
        if id(access.buffer) in read_buffers:
            later = self._instructions[index + 1 :]
            if any(s.kind == "input" for instruction in later for s in instruction.sources):
                return False
        for source in self._instructions[index].sources:
            if source.kind == "input":
                read = self._inputs[source.number]
                in_place = read.buffer is access.buffer and (read.offsets == access.offsets).all()
                if not in_place and local_memories(read) & local_memories(access):
                    return False
        return True

    def _registers_without_home(self) -> set[int]:
        """Registers read through a latch only, or not at all."""
        homeless = {i.result for i in self._instructions if i.result is not None}
        previous: Instruction | None = None
        for instruction in self._instructions:
            latched = previous.result if instruction.chained and previous is not None else None
            homeless -= {r for r in registers_read(instruction) if r != latched}
            previous = instruction
        direct = self._direct_outputs()
        for number, (_, value) in enumerate(self._outputs):
            if value.kind == "register" and direct.get(value.number) != number:
                homeless.discard(value.number)
        homeless -= {i.result for i in self._instructions if i.write_flag is not None and i.result not in direct}
        return homeless

    # ---- placement -----------------------------------------------------------------------------------------------

    def _place(self, instruction: Instruction) -> None:
        destinations = []
        if instruction.result is not None:
            if instruction.result in self._direct:
                destinations.append(Place("output", self._direct[instruction.result]))
            if instruction.result not in self._homeless:
                destinations += [Place("register", instruction.result, file) for file in self.files[instruction.result]]
        self._append(instruction, destinations)

    def _append(self, instruction: Instruction, destinations: list[Place]) -> None:
        unit = self.units[-1] if instruction.chained else []
        latched: dict[tuple[str, int], Memory] = {}
        if instruction.chained:
            before = unit[-1].instruction
            assert before.result is not None
            latched["register", before.result] = Memory.MAUF if before.is_mau else Memory.ALUF
        written = self._written_local(destinations)
        sources = self._assign(instruction, latched, written)
        while sources is None:
            victim = self._victim(instruction, latched)
            copy = Instruction("ipassa", (replace(victim, negated=False),))
            places = self._assign(copy, {}, set())
            if places is None or latched:
                raise InternalError(f"no placement of the operands of {instruction.opcode}")
            unit.append(Placed(copy, places))
            latched[victim.kind, victim.number] = Memory.ALUF
            sources = self._assign(instruction, latched, written)
        unit.append(Placed(instruction, sources, destinations))
        if not instruction.chained:
            self.units.append(unit)

    def _written_local(self, destinations: list[Place]) -> set[Memory]:
        return {m for d in destinations if d.kind == "output" for m in local_memories(self._outputs[d.number][0])}

    @staticmethod
    def _victim(instruction: Instruction, latched: dict[tuple[str, int], Memory]) -> Value:
        """The operand that moves to the latch: preferably the addend."""
        for kinds in (("input",), ("register",), ("constant",)):
            for source in reversed(instruction.sources):
                if source.kind in kinds and (source.kind, source.number) not in latched:
                    return source
        raise InternalError(f"operands of {instruction.opcode} cannot be placed")

    def _assign(
        self, instruction: Instruction, latched: dict[tuple[str, int], Memory], written: set[Memory]
    ) -> tuple[Place, ...] | None:
        """Places of the sources with one address per memory, or None."""
        used: set[Memory] = set()
        places: dict[tuple[str, int], tuple[str, Memory | None]] = {}
        order = sorted(instruction.sources, key=lambda s: self._freedom(s))
        for source in order:
            key = (source.kind, source.number)
            if key in places:
                continue
            if source.kind == "sign":
                places[key] = ("sign", None)
                continue
            if key in latched:
                places[key] = ("latch", latched[key])
                continue
            choices = self._choices(source, instruction, written)
            if source.kind == "input":
                if used & choices[0]:
                    return None
                used |= choices[0]
                places[key] = ("input", None)
                continue
            free = next((m for choice in choices for m in choice if m not in used), None)
            if free is None:
                return None
            used.add(free)
            places[key] = (source.kind, free)
        found = [(source, *places[source.kind, source.number]) for source in instruction.sources]
        return tuple(Place(kind, source.number, memory, source.negated) for source, kind, memory in found)

    def _freedom(self, source: Value) -> int:
        if source.kind == "register":
            return 1 + len(self.files[source.number])
        return {"input": 0, "constant": 4}.get(source.kind, 5)

    def _choices(self, source: Value, instruction: Instruction, written: set[Memory]) -> list[set[Memory]]:
        if source.kind == "input":
            return [memories(self._inputs[source.number])]
        if source.kind == "register":
            return [{file} for file in self.files[source.number]]
        preferred = LOCAL_MEMORY[::-1] if instruction.is_mau else LOCAL_MEMORY
        local = [{memory} for memory in preferred if memory not in written]
        files = [{file} for file in REGISTER_FILE]
        return [*local, *files] if self.heavy else [*files, *local]


def flatten(units: Iterable[Unit]) -> list[Placed]:
    return [placed for unit in units for placed in unit]
