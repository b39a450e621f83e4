"""Small improvements on the machine-level form, before registers are chosen."""

from collections import Counter

from mnc.mncore_backend.kernels.math.micro import Instruction, Value


def registers_read(instruction: Instruction) -> list[int]:
    return [source.number for source in instruction.sources if source.kind == "register"]


def coalesce_copies(instructions: list[Instruction], values: list[Value]) -> tuple[list[Instruction], list[Value]]:
    """Drop a copy of a register that nothing else reads: what is later written into the copy is written into the
    register itself. `values` are what the outputs read. Returns both after the change."""
    kept = {value.number for value in values if value.kind == "register"}
    readers = Counter(number for instruction in instructions for number in registers_read(instruction))
    writers = Counter(instruction.result for instruction in instructions)
    rename: dict[int, int] = {}
    result = []
    for instruction in instructions:
        source = instruction.sources[0] if instruction.opcode == "ipassa" else None
        plain_copy = instruction.write_flag is None and instruction.zero_flag is None and instruction.flag is None
        if source is not None and plain_copy and source.kind == "register" and instruction.result is not None:
            number = source.number
            if readers[number] == 1 and number not in kept and writers[number] == 1 and number not in rename:
                rename[instruction.result] = number
                continue
        result.append(instruction)
    for instruction in result:
        if instruction.result is not None:
            instruction.result = _final(instruction.result, rename)
        instruction.sources = tuple(_renamed(source, rename) for source in instruction.sources)
    return result, [_renamed(value, rename) for value in values]


def _final(number: int, rename: dict[int, int]) -> int:
    while number in rename:
        number = rename[number]
    return number


def _renamed(value: Value, rename: dict[int, int]) -> Value:
    return Value(value.kind, _final(value.number, rename), value.negated) if value.kind == "register" else value


def remove_unused(instructions: list[Instruction], kept: set[int]) -> list[Instruction]:
    """Drop instructions whose register and flag nobody reads."""
    registers, flags = set(kept), set()
    result = []
    for instruction in reversed(instructions):
        if instruction.result not in registers and instruction.flag not in flags:
            continue
        registers.update(registers_read(instruction))
        flags.update(flag for flag in (instruction.write_flag, instruction.zero_flag) if flag is not None)
        if instruction.result not in registers:
            instruction.result = None
        result.append(instruction)
    result.reverse()
    _forget_broken_chains(result)
    return result


def _forget_broken_chains(instructions: list[Instruction]) -> None:
    """A chained instruction must directly follow the one whose result it reads."""
    previous: Instruction | None = None
    for instruction in instructions:
        if instruction.chained and (previous is None or previous.result not in registers_read(instruction)):
            instruction.chained = False
        previous = instruction
