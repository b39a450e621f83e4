"""Rules of single expressions, memoised: programs repeat them."""


from mnc.mncore_backend.assembly.isa import OPCODES, OpcodeInfo, Port, Unit
from mnc.mncore_backend.assembly.printer import print_operand
from mnc.mncore_backend.assembly.records import LATCHES, Expression, Literal, Memory, Operand
from mnc.mncore_backend.checker.findings import Report
from mnc.mncore_backend.checker.operand_rules import destination_reports, mask_reports, source_reports
from mnc.mncore_backend.checker.transfer_rules import l1bm_reports, l2bm_reports
from mnc.mncore_backend.target import BAR_BITS, MATRIX_ROWS, TAGS, cached_per_machine

_INTEGER_RANGES = {
    "i": (-(1 << 31), (1 << 31) - 1),
    "ui": (0, (1 << 32) - 1),
    "s": (-(1 << 15), (1 << 15) - 1),
    "us": (0, (1 << 16) - 1),
}
_PLAIN = (Memory.T, *LATCHES)


@cached_per_machine(1 << 17)
def expression_reports(expression: Expression) -> tuple[Report, ...]:
    """Everything wrong with an expression whatever stands beside or before it."""
    info = OPCODES[expression.opcode]
    found: list[Report] = []
    if info.unit is Unit.WAIT:
        return tuple(_tag(expression.tag or 0))
    if info.unit in (Unit.NOP, Unit.NOFORWARD, Unit.L2BMDARW):
        return ()
    if info.unit is Unit.L2BM:
        return tuple(l2bm_reports(expression, info))
    if info.unit is Unit.L1BM:
        found += l1bm_reports(expression, info)
    else:
        found += _calculation(expression, info)
    if expression.zero_flush is not None:
        found += mask_reports(expression.zero_flush)
    if len(expression.destinations) > 1 and any(d.memory is Memory.NOWRITE for d in expression.destinations):
        found.append(Report("nowrite-alone", "$nowrite with another destination", "leave out $nowrite"))
    return tuple(found)


def _tag(tag: int) -> list[Report]:
    if tag == 0:
        return [Report("wait-tag", "tag 00 does not exist", "tags are 01 to 3f")]
    if tag in TAGS:
        return []
    return [Report("tag-large", f"tag {tag:02x} is above 3f", "use a tag from 01 to 3f")]


def _calculation(expression: Expression, info: OpcodeInfo) -> list[Report]:
    found: list[Report] = []
    if expression.literal is not None:
        found += _literal(expression.literal)
        found += _base_registers(expression, expression.literal)
    for port, operand in zip(info.ports, expression.sources, strict=False):
        if port is Port.MATRIX:
            if operand.width != 2:
                found.append(_matrix_width(operand, "a matrix-vector operation names a bank as $lx or $ly"))
        elif port is Port.ROW:
            found += _matrix(operand, info)
        else:
            found += source_reports(operand, port, info)
    if info.unit is Unit.MWRITE:
        found += _matrix(expression.destinations[0], info)
        found += _write_source(expression.sources[0], expression.destinations[0], info)
        return found
    for operand in expression.destinations:
        found += destination_reports(operand, info)
    return found


def _literal(literal: Literal) -> list[Report]:
    if literal.kind in ("f", "h"):
        return []
    low, high = _INTEGER_RANGES[literal.kind]
    value = int(literal.text, 0)
    if low <= value <= high:
        return []
    message = f'{literal.kind}"{literal.text}" is beyond {low}..{high}'
    unsigned = value >= 0 and not literal.kind.startswith("u") and value <= 2 * high + 1
    return [Report("immediate-range", message, f"use u{literal.kind}" if unsigned else "use a value in range")]


def _base_registers(expression: Expression, literal: Literal) -> list[Report]:
    """``immu`` leaves 0 in D1, so that it matters which word of the long feeds the 12 bits of a base register."""
    targets = [d for d in expression.destinations if d.memory in (Memory.BAR0, Memory.BAR1) and d.width == 2]
    if expression.opcode != "immu" or not targets or literal.kind in ("f", "h"):
        return []
    if int(literal.text, 0) % (1 << BAR_BITS) == 0:
        return []
    message = f"the words of the long written to {print_operand(targets[0])} differ"
    return [Report("base-register-words", message, "use imm, which fills both words")]


def _matrix_width(operand: Operand, hint: str) -> Report:
    return Report("matrix-width", f"{print_operand(operand)} has a width or address that does not exist here", hint)


def _matrix(bank: Operand, info: OpcodeInfo) -> list[Report]:
    found: list[Report] = []
    rows = MATRIX_ROWS[info.precision]
    if bank.address >= rows:
        message = f"{print_operand(bank)}: {info.mnemonic} has rows and columns 0 to {rows - 1}"
        found.append(Report("matrix-address", message, "addresses wrap; write the wrapped one"))
    if bank.width == 4 and info.precision != "h":
        found.append(_matrix_width(bank, f"{info.mnemonic} takes the l form, such as $lx0"))
    if info.unit is Unit.MREAD and info.precision == "h" and bank.width != 4:
        found.append(_matrix_width(bank, "hmread exists with ll only, such as $llx0"))
    if bank.width == 4 and bank.address % 2:
        found.append(_matrix_width(bank, "the ll form takes an even address"))
    return found


def _write_source(source: Operand, bank: Operand, info: OpcodeInfo) -> list[Report]:
    """SDM 3.6.10.3: source and bank of ``hmwrite`` agree in width; ``r`` halves the source."""
    if info.precision != "h" or source.memory in _PLAIN:
        return []
    effective = source.width // 2 if source.suffix == "r" else source.width
    if effective == bank.width:
        return []
    wanted = "$llx" if effective == 4 else "$lx"
    return [_matrix_width(bank, f"source {print_operand(source)} goes with {wanted}")]
