"""The list of rules: identifier, severity, what it says, the OPEN point it hangs on, where it is written."""

from dataclasses import dataclass

from mnc.mncore_backend.checker.findings import Severity
from mnc.mncore_backend.target import chip

E, W, R, S = Severity.ERROR, Severity.WARNING, Severity.REMARK, Severity.SILENT


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the checker."""

    identifier: str
    severity: Severity
    summary: str
    source: str
    open_point: str = ""


_RULES = (
    Rule("syntax", E, "a line that is not assembly", "SDM 3.2, 3.6"),
    Rule("operand-kind", E, "an operand that its position does not take", "SDM 3.6.12, summary 7.1"),
    Rule("operand-sign", E, "a minus sign on an input that has none", "summary 7.5"),
    Rule("suffix-narrow", E, "r on an input that is not a normal half input", "summary 7.8"),
    Rule("suffix-widen", E, "e on an input that has no lower precision or takes none", "summary 7.5"),
    Rule("widen-unattested", S, "e on a product, e or - on a matrix write source", "summary 7.5", "OPEN-32"),
    Rule("fixed-value-float", S, "a fixed value read by a float operation", "summary 5.2", "OPEN-13"),
    Rule("nowrite-alone", E, "$nowrite together with another destination", "summary 5"),
    Rule("mask-entry", E, "a mask register entry that does not exist or cannot be written", "SDM 3.6.2"),
    Rule("flagless-mask-write", W, "an operation without flags writes a mask register", "summary 5.3", "OPEN-15"),
    Rule("masked-mask-write", W, "a mask register written under another entry", "SDM 3.6.2", "OPEN-14"),
    Rule("mask-check-suffix", S, "t or p behind a mask", "summary 5.3", "OPEN-17"),
    Rule("base-register-words", W, "a base register written from a long whose words differ", "summary 4", "OPEN-11"),
    Rule("mask-width", W, "t or p behind a mask whose word length does not fit the access", "summary 5.3", "OPEN-17"),
    Rule("address-range", E, "a static address beyond the memory", "summary 2", "OPEN-08"),
    Rule("address-alignment", E, "an address or stride that is no multiple of the access width", "tutorial", "OPEN-08"),
    Rule("t-indirect", E, "T-indirect with j, or on LM1", "summary 4"),
    Rule("pe-offset", E, "j<madpe> beyond 3", "summary 4", "OPEN-12"),
    Rule("immediate-range", E, "an immediate that its kind cannot hold", "SDM 3.2.2"),
    Rule("matrix-width", E, "width or address of a matrix bank that the precision does not take", "SDM 3.6.10.3"),
    Rule("matrix-address", E, "a row or column beyond the bank", "SDM 3.6.10.3", "OPEN-08"),
    Rule("port-read", E, "two different regions read from one memory in a step", "summary 7.1.1"),
    Rule("port-write", E, "two writes to one memory in a step", "summary 7.1.1"),
    Rule("local-memory-region", E, "LM read and written at different addresses in a step", "summary 7.1.1"),
    Rule("immediate-local-memory", E, "imm together with LM0", "summary 7.1.1"),
    Rule("same-step-read", W, "a GRF word that another expression writes cycles before", "SDM 3.6.3.9", "OPEN-47"),
    Rule("issue-group", E, "two expressions of one issue group in a step", "SDM 3.6.4"),
    Rule("mau-units", E, "MAU calculation, matrix write and transposed read together", "SDM 3.6.4"),
    Rule("mau-precision", E, "precisions of the MAU expressions of a step differ", "SDM 3.6.4"),
    Rule("shared-second-input", E, "vector product and matrix write disagree on their shared input", "SDM 3.6.4"),
    Rule("matrix-bank-use", E, "a matrix bank used twice in a step", "SDM 3.6.4"),
    Rule("nop-company", E, "nop with anything but wait", "summary 7.2"),
    Rule("wait-company", E, "wait without another expression", "summary 7.2"),
    Rule("wait-tag", E, "a wait for tag 00", "SDM 3.2.3"),
    Rule("wait-unknown", S, "wait for a tag that the program does not assert", "programs", "OPEN-39"),
    Rule("zero-flush-twice", E, "two zero-flush masks in a step", "SDM 3.6.2"),
    Rule("mask-conflict", E, "masks of a step differ in entry or word length", "SDM 3.6.2"),
    Rule("latch-idle", E, "a latch whose unit produced nothing in the last counted step", "tutorial", "OPEN-19"),
    Rule("matrix-precision", E, "a bank read with another word length than it was written with", "SDM 3.6.10.3"),
    Rule("turnaround-empty", E, "the turnaround register read before a write", "SDM 3.6.8.2", "OPEN-20"),
    Rule("turnaround-kind", E, "the turnaround register read as another kind of transfer", "SDM 3.6.8.2", "OPEN-20"),
    Rule("turnaround-shift", E, "shifts of a turnaround pair differ", "SDM 3.6.8.20"),
    Rule("l1bm-form", E, "a 2-long form that the transfer does not have", "SDM 3.6.8"),
    Rule("l1bm-width", S, "PE operand and L1BM form differ in width", "SDM 3.6.8", "OPEN-45"),
    Rule("transfer-alignment", E, "an L1BM or L2BM address off its alignment", "SDM 3.6.7, 3.6.8", "OPEN-43"),
    Rule("selector-range", E, "a MAB, L1B or shift that does not exist", "SDM 3.6.8"),
    Rule("selector-quad", E, "a MAB of a quad beyond 3", "summary 7.4", "OPEN-44"),
    Rule("reduction-width", E, "a 2-long reduction other than f* or bor", "SDM 3.6.8"),
    Rule("reduction-suffix", E, "e or r on a reduction that is not single precision", "SDM 3.6.8"),
    Rule("l1b-set", E, "a list of L1Bs that is no legal set, or forbidden for l2bmi", "SDM 3.6.7.1"),
    Rule("l1b-list", S, "an L1B set written as a list", "SDM 3.6.7.1", "OPEN-07"),
    Rule("pairing-unattested", S, "l2bmb2, whose pairing of L1Bs is inferred", "summary 7.3", "OPEN-42"),
    Rule("dar-model", S, "DAR loading", "summary 7.3", "OPEN-41"),
    Rule("mv-form", E, "operands that select no form of the MV", "SDM 3.5.7"),
    Rule("mv-size", E, "an MV size that is no positive multiple of the unit", "SDM 3.5.7"),
    Rule("mv-size-large", S, "an MV size above 32768", "programs", "OPEN-46"),
    Rule("mv-mvd-count", S, "mvd whose size counts a side that no test settled", "programs", "OPEN-35"),
    Rule("mv-mvd-dram", S, "mvd between PDM and DRAM, whose count is not settled", "programs", "OPEN-36"),
    Rule("mv-pdm-reduction", S, "mvr2 to PDM", "summary 7.9", "OPEN-37"),
    Rule("mv-unnamed-l2b", S, "mvp to DRAM from an L2B that is not named", "programs", "OPEN-37"),
    Rule("mv-instance", E, "a group or L2B that does not exist", "summary 1"),
    Rule("mv-repeat", E, "nd without indirect DRAM, or on an MV that has none", "summary 7.9"),
    Rule("mv-repeat-many", S, "nd above 1", "summary 7.9", "OPEN-40"),
    Rule("mv-tag", E, "an MV with tag 00", "SDM 3.2.3"),
    Rule("tag-large", W, "a tag above 3f", "programs", "OPEN-51"),
    Rule("tag-balance", R, "a tag that is asserted more often than waited for, or less", "programs", "OPEN-52"),
    Rule("masks-left", W, "masks that are not the default at the end", "programs", "OPEN-53"),
    Rule("mv-tag-reuse", E, "a tag asserted again without a wait", "programs"),
    Rule("mv-unwaited", E, "memory of a running MV used without a wait", "summary 7.9"),
    Rule("mv-untagged", W, "an earlier MV of the same path taken as finished", "programs", "OPEN-38"),
    Rule("mv-conflict", W, "an MV that uses long words of one in flight", "programs", "OPEN-38"),
    Rule("debug-payload", E, "d set with a payload of another length than its count says", "SDM 3.4.4"),
    Rule("debug-memory", E, "a memory that the debug statement does not take", "SDM 3.4.3, 3.4.4"),
    Rule("debug-count", E, "d get of more than the memory has", "SDM 3.4.3"),
    Rule("debug-dtype", E, "a matrix bank dumped without a dtype", "SDM 3.4.3"),
    Rule("spelling", S, "a comment with !", "programs", "OPEN-05"),
)


def _hazard_rules() -> list[Rule]:
    """One rule per row of the hazard table that can be broken."""
    found: list[Rule] = []
    for row in chip().hazards.values():
        if row.row in ("8t", "9d", "10", "11"):
            continue  # satisfied by the order of the statements; row 11 is latch-idle
        rejects = row.reject_steps is not None or row.reject_cycles is not None
        point = "OPEN-47" if "OPEN-47" in row.source else ""
        summary = f"{row.producer} too close before {row.consumer} ({row.cause})"
        severity = E if rejects else R if row.remark else W
        found.append(Rule(f"hazard-{row.row}", severity, summary, row.source, "" if rejects else point))
    return found


RULES: dict[str, Rule] = {rule.identifier: rule for rule in (*_RULES, *_hazard_rules())}

SEEN_BY_NO_ASSEMBLER = ("mv-unwaited", "mv-untagged", "mv-conflict")
"""Rules about the time at which transfers finish, which only the machine knows."""
