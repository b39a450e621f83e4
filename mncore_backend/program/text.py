"""Machine operations before scheduling, as text and back: assembly in which a buffer and per-cycle word offsets stand
where an address will be.

    gmfma | $lx | %b3.l[0,2,4,6] | %b7.l[0,4,8,12] | -> %b7.l[0,4,8,12]
    mvp | n=256 | %image.w[0] | -> %down.w[0]@.1
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.assembly.errors import TokenError
from mnc.mncore_backend.assembly.operands import (
    parse_destination,
    parse_l1bm,
    parse_l2bm,
    parse_mask,
    parse_matrix,
    parse_mv_operand,
    parse_source,
)
from mnc.mncore_backend.assembly.printer import print_mask, print_operand
from mnc.mncore_backend.assembly.records import Literal, Operand
from mnc.mncore_backend.program import AnyOperand, Buffer, BufferOperand, MachineOp

_WIDTH = {1: "w", 2: "l", 4: "ll"}
_WORDS = {letter: words for words, letter in _WIDTH.items()}
_BUFFER = re.compile(r"(-?)%([\w.]+)\.(w|l|ll)(t?)\[([\d,-]+)\]([er]?)(?:@(\d*)\.(\d+)|@(\d+))?(?:/(.+))?")
_LITERAL = re.compile(r'([a-z]+)"([^"]*)"')
_PARSERS: tuple[Callable[[str], Operand], ...] = (
    parse_source,
    parse_destination,
    lambda text: parse_matrix(text, addressed=True),
    lambda text: parse_matrix(text, addressed=False),
    parse_l1bm,
    parse_l2bm,
    parse_mv_operand,
)


def _print(operand: AnyOperand) -> str:
    if isinstance(operand, Operand):
        return print_operand(operand)
    offsets = ",".join(map(str, operand.offsets))
    text = f"{'-' if operand.negate else ''}%{operand.buffer.name}.{_WIDTH[operand.width]}"
    text += f"{'t' if operand.t_indirect else ''}[{offsets}]{operand.suffix}"
    if operand.l2b is not None:
        text += f"@{'' if operand.group is None else operand.group}.{operand.l2b}"
    elif operand.group is not None:
        text += f"@{operand.group}"
    return text + (print_mask(operand.mask) if operand.mask is not None else "")


def print_operation(op: MachineOp) -> str:
    """One line; buffer names must be unique in the program."""
    parts = [op.opcode]
    if op.modifier:
        parts.append(f"modifier={op.modifier}")
    if op.zero_flush is not None:
        parts.append(f"flush={print_mask(op.zero_flush)[1:]}")
    if op.size:
        parts.append(f"n={op.size}")
    if op.literal is not None:
        parts.append(f'{op.literal.kind}"{op.literal.text}"')
    parts += [_print(operand) for operand in op.sources]
    return " | ".join([*parts, " ".join(["->", *(_print(operand) for operand in op.destinations)])])


@lru_cache(1 << 12)
def _plain(text: str) -> Operand:
    for parser in _PARSERS:
        try:
            return parser(text)
        except TokenError:
            continue
    raise InternalError(f"cannot read the operand {text}")


def _parse(text: str, buffers: Mapping[str, Buffer], known: dict[str, AnyOperand]) -> AnyOperand:
    found = known.get(text)
    if found is None:
        found = known[text] = _read(text, buffers)
    return found


def _read(text: str, buffers: Mapping[str, Buffer]) -> AnyOperand:
    match = _BUFFER.fullmatch(text)
    if match is None:
        return _plain(text)
    sign, name, width, indirect, offsets, suffix, group, l2b, only_group, mask = match.groups()
    group = only_group if only_group is not None else group
    return BufferOperand(
        buffers[name],
        tuple(map(int, offsets.split(","))),
        _WORDS[width],
        negate=bool(sign),
        suffix=suffix,
        mask=parse_mask(mask) if mask else None,
        t_indirect=bool(indirect),
        group=int(group) if group else None,
        l2b=int(l2b) if l2b else None,
    )


def parse_operation(
    text: str, buffers: Mapping[str, Buffer], location: str = "", known: dict[str, AnyOperand] | None = None
) -> MachineOp:
    """Inverse of `print_operation`; raises InternalError for anything else. `known`: operands that have been read
    before, by their text, which operations of one program share."""
    if known is None:
        known = {}
    opcode, arrow, last = text.rpartition(" | ->")
    if not arrow:
        raise InternalError("expected OPCODE | OPERANDS | -> RESULTS")
    opcode, *middle = opcode.split(" | ")
    op = MachineOp(opcode, location=location)
    sources = []
    for part in middle:
        key, equals, value = part.partition("=")
        if equals and key == "n":
            op.size = int(value)
        elif equals and key == "modifier":
            op.modifier = value
        elif equals and key == "flush":
            op.zero_flush = parse_mask(value)
        elif match := _LITERAL.fullmatch(part):
            op.literal = Literal(match[1], match[2])
        else:
            sources.append(_parse(part, buffers, known))
    op.sources = tuple(sources)
    op.destinations = tuple([_parse(part, buffers, known) for part in last.split()])
    return op
