"""Rules of single transfers: L1BM, L2BM and MV forms, sizes, alignments, sets, selectors."""

from mnc.mncore_backend.assembly.accesses import moves_down
from mnc.mncore_backend.assembly.isa import OPCODES, OpcodeInfo, Port
from mnc.mncore_backend.assembly.modifiers import all_l1bs, free_bits, is_legal_set, l1b_selector, l1b_set, mab_shift
from mnc.mncore_backend.assembly.mv_accesses import mv_form
from mnc.mncore_backend.assembly.printer import print_operand
from mnc.mncore_backend.assembly.records import Expression, Memory, Operand, Transfer
from mnc.mncore_backend.checker.findings import Report
from mnc.mncore_backend.checker.operand_rules import address_reports, destination_reports, source_reports
from mnc.mncore_backend.target import INDIRECT_MVS, MABS_PER_QUAD, REPEATING_MVS, TAGS, chip

_PE_MEMORIES = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)


def _aligned(operand: Operand, alignment: int, mnemonic: str) -> list[Report]:
    if operand.address % alignment == 0:
        return []
    message = f"{print_operand(operand)}: {mnemonic} takes addresses that are multiples of {alignment}"
    return [Report("transfer-alignment", message, f"use {operand.address // alignment * alignment} or a smaller form")]


def l1bm_reports(expression: Expression, info: OpcodeInfo) -> list[Report]:
    """L1BM <-> PE transfers."""
    down = moves_down(expression)
    port = expression.sources[0] if down else expression.destinations[0]
    found: list[Report] = []
    if down:
        for operand in expression.destinations:
            found += destination_reports(operand, info)
    else:
        found += source_reports(expression.sources[0], Port.PE, info)
    found += _l1bm_port(port, info)
    found += _selector(expression, info)
    if info.reduction:
        found += _reduction(expression, port, info)
    found += _port_width(expression.destinations if down else expression.sources, port, expression, info)
    return found


def _l1bm_port(port: Operand, info: OpcodeInfo) -> list[Report]:
    facts = chip().l1bm_families[info.family]
    two_long = port.width == 4
    if two_long and facts.rate_two_long is None:
        return [Report("l1bm-form", f"{info.mnemonic} has no 2-long form", f"use $lb{port.address}")]
    if port.memory is not Memory.L1BM:
        return []
    alignment = facts.alignment_two_long if two_long else facts.alignment
    return [*address_reports(port), *_aligned(port, alignment, info.mnemonic)]


def _selector(expression: Expression, info: OpcodeInfo) -> list[Report]:
    modifier = expression.modifier
    if modifier.startswith("@"):
        limit = MABS_PER_QUAD - 1 if info.family == "m4" else chip().mabs_per_l1b - 1
        if l1b_selector(modifier) > limit:
            rule = "selector-quad" if info.family == "m4" else "selector-range"
            return [Report(rule, f"{info.mnemonic}{modifier}: MABs here are 0 to {limit}", f"use @0 to @{limit}")]
    elif info.family == "d" and abs(mab_shift(modifier)) >= (mabs := chip().mabs_per_l1b):
        message = f"{info.mnemonic}{modifier}: shifts are 0 to {mabs - 1}"
        return [Report("selector-range", message, f"take the shift modulo {mabs}")]
    return []


def _reduction(expression: Expression, port: Operand, info: OpcodeInfo) -> list[Report]:
    if port.width != 4:
        return []
    if info.precision != "f" and info.reduction != "bor":
        hint = "2-long reductions are those of f and the bitwise or"
        return [Report("reduction-width", f"{info.mnemonic} has no 2-long form", hint)]
    if expression.modifier == "r":
        return [Report("reduction-suffix", f"{info.mnemonic}r gives one long per PE", "write the destination as $lb")]
    return []


def _port_width(operands: tuple[Operand, ...], port: Operand, expression: Expression, info: OpcodeInfo) -> list[Report]:
    """OPEN-45: padding and truncation between the L1BM form and the PE operand."""
    if info.reduction and (expression.modifier or expression.sources[0].suffix):
        return []
    for operand in operands:
        if operand.memory in _PE_MEMORIES and operand.width != port.width:
            message = f"{print_operand(operand)} differs in width from {print_operand(port)}"
            return [Report("l1bm-width", message, "use equal widths")]
    return []


def l2bm_reports(expression: Expression, info: OpcodeInfo) -> list[Report]:
    """L2BM <-> L1BM transfers and DAR staging."""
    source, target = expression.sources[0], expression.destinations[0]
    found = [*address_reports(source), *address_reports(target)]
    if info.operation == "l2bmdars":
        found.append(
            Report("dar-model", "DAR loading follows a model that no source confirms", "address DRAM directly")
        )
        if source.l2b is None or source.l2b >= chip().l2bs_per_group or source.group is not None:
            message = f"{print_operand(source)}: {info.mnemonic} reads one L2B of every group, .0 or .1"
            found.append(Report("mv-instance", message, "write $lc<address>@.<l>"))
        return found
    facts = chip().l2bm_families[info.family]
    for operand in (source, target):
        alignment = facts.l1bm_alignment if operand.memory is Memory.L1BM else facts.l2bm_alignment
        found += _aligned(operand, alignment, info.mnemonic)
    if info.operation == "l2bm":
        last = chip().l1bs_per_l2b - 1
        if l1b_selector(expression.modifier) > last:
            message = f"l2bm{expression.modifier}: L1Bs are 0 to {last}"
            found.append(Report("selector-range", message, f"use @0 to @{last}"))
        return found
    if info.operation == "l2bmb2":
        found.append(Report("pairing-unattested", "which L1Bs l2bmb2 pairs is inferred", "use l2bmb with sets"))
    return found + _set(expression, info)


def _set(expression: Expression, info: OpcodeInfo) -> list[Report]:
    modifier = expression.modifier
    chosen = l1b_set(modifier)
    if "," in modifier or "[" in modifier:
        if not is_legal_set(chosen):
            hint = "legal sets differ in whole bits: write @<b0>/<don't-care bits>"
            return [Report("l1b-set", f"{info.mnemonic}{modifier} is no legal set of L1Bs", hint)]
        listed = [
            Report("l1b-list", f"{info.mnemonic}{modifier} is written as a list", "write @<b0>/<don't-care bits>")
        ]
    else:
        listed = []
    if info.operation == "l2bmi" and (chosen == all_l1bs() or free_bits(chosen) == chip().l1bs_per_l2b - 1):
        return [*listed, Report("l1b-set", "l2bmi cannot take all L1Bs as sources", "nothing would move; leave it out")]
    return listed


def mv_reports(transfer: Transfer) -> list[Report]:
    """Form, size, tag, instances and options of an MV."""
    source, destination = transfer.source, transfer.destination
    if source is None or destination is None:
        return []
    found: list[Report] = [*address_reports(source), *address_reports(destination)]
    if transfer.tag == 0:
        found.append(Report("mv-tag", "tag 00 does not exist", "tags are 01 to 3f"))
    elif transfer.tag is not None and transfer.tag not in TAGS:
        found.append(Report("tag-large", f"tag {transfer.tag:02x} is above 3f", "use a tag from 01 to 3f"))
    for operand in (source, destination):
        if (operand.group or 0) >= chip().groups or (operand.l2b or 0) >= chip().l2bs_per_group:
            limits = f"groups are 0..{chip().groups - 1}, L2Bs 0..{chip().l2bs_per_group - 1}"
            found.append(Report("mv-instance", f"{print_operand(operand)} does not exist", limits))
    form = mv_form(transfer)
    if form is None:
        shapes = [
            f"{f.source} {f.destination}" for f in chip().mv_forms if f.opcode == OPCODES[transfer.opcode].operation
        ]
        message = f"{transfer.opcode} has no form {print_operand(source)} {print_operand(destination)}"
        return [*found, Report("mv-form", message, "its forms: " + ", ".join(shapes))]
    if _is_indirect(transfer) and form.opcode not in INDIRECT_MVS:
        message = f"{transfer.opcode} takes no indirect DRAM operand"
        found.append(Report("mv-form", message, "write $d<address>; $di is for " + ", ".join(INDIRECT_MVS)))
    if transfer.size <= 0 or transfer.size % form.unit:
        message = f"size {transfer.size} of {transfer.opcode} is no positive multiple of {form.unit}"
        found.append(Report("mv-size", message, f"use n{max(1, -(-transfer.size // form.unit)) * form.unit}"))
    if transfer.size > chip().mv_largest_size:
        found.append(Report("mv-size-large", f"size {transfer.size} was never seen", "split the transfer"))
    return found + _repeat(transfer) + _unsettled(transfer, form.identifier)


def _is_indirect(transfer: Transfer) -> bool:
    return any(o is not None and o.memory is Memory.DRAM_INDIRECT for o in (transfer.source, transfer.destination))


def _repeat(transfer: Transfer) -> list[Report]:
    if transfer.repeat is None:
        return []
    if not _is_indirect(transfer) or OPCODES[transfer.opcode].operation not in REPEATING_MVS:
        return [Report("mv-repeat", "nd needs $di and exists on mvp, mvd and mvr", "leave out nd")]
    if transfer.repeat > 1:
        return [Report("mv-repeat-many", f"nd{transfer.repeat} was never measured", "use nd1 and more DAR entries")]
    return []


def _unsettled(transfer: Transfer, form: str) -> list[Report]:
    if form == "D1":
        return [Report("mv-mvd-count", f"{transfer.opcode}: n taken per L2BM", "use mvp per L2B")]
    if form in ("D3", "D4"):
        return [Report("mv-mvd-dram", f"{transfer.opcode}: n taken as the PDM side", "use four mvp")]
    if form == "P12":
        return [Report("mv-unnamed-l2b", f"{transfer.opcode} takes L2B 0 of each group", "write $lc<address>@.0")]
    if form == "R5":
        return [Report("mv-pdm-reduction", "mvr2 to PDM", "reduce to DRAM, or use mvr")]
    return []
