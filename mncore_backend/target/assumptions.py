"""What no document settles, listed for people."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mnc.mncore_backend.target.machine import Machine


@dataclass(frozen=True, slots=True)
class Assumption:
    """A choice where no document decides: its identifier, the field of `Machine` or the constant of `instruction_set`
    that carries it, its value and meaning."""

    identifier: str
    constant: str
    value: str
    meaning: str


def assumptions(machine: "Machine") -> tuple[Assumption, ...]:
    """The list for a machine."""

    def of(identifier: str, field: str, meaning: str) -> Assumption:
        return Assumption(identifier, field, str(getattr(machine, field)), meaning)

    return (
        of("OPEN-48", "mv_latency_steps", "fixed part of an MV's duration in steps"),
        of("OPEN-48", "mv_latency_overlaps", "latencies of queued MVs overlap"),
        of("OPEN-48", "mv_issue_interval_steps", "steps between two MV issues"),
        of("OPEN-48", "pe_steps_per_mv_slot", "PE statements per MV slot when packed"),
        of("OPEN-48", "nops_after_wait", "statements between a wait and the first use"),
        Assumption("OPEN-48", "mv_forms", "rates", "rates of the MV forms whose source names OPEN-48"),
        Assumption("OPEN-47", "hazards", "distances", "hazard distances whose source names OPEN-47"),
        of("OPEN-46", "mv_largest_size", "largest size of a generated MV"),
        Assumption("OPEN-43", "l1bm_families", "alignment", "alignments that follow the rule of sibling instructions"),
        of("OPEN-41", "dar_written_entries_per_step", "DAR loading model"),
        Assumption("OPEN-38", "one_port", "DRAM", "memories whose reads and writes by MVs wait for each other"),
        Assumption("OPEN-36", "mv_forms", "D3, D4", "n of mvd between PDM and DRAM counts the PDM side"),
        Assumption("OPEN-35", "mv_forms", "D1", "n of mvd from PDM to L2BM counts one L2BM"),
        Assumption("OPEN-12", "MADPE_RANGE", "0..3", "values of j<madpe>"),
        Assumption("OPEN-11", "BAR_SOURCE_WORD", "D0", "word that feeds a base address register"),
    )
