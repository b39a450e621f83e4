"""Distances that an instruction keeps to those before it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hazard:
    """One row of the hazard table. Distances are from producer to consumer: `steps` count statements (1 = the next
    one), `cycles` count t_read - t_write with t = 4 * step + cycle and hold for every shared address. `emit_*` is
    what generated code keeps; below `reject_*` a program is wrong; None means no such condition. Between the two it
    is suspicious only if `warn` is set, and worth a remark if `remark` is (OPEN-47)."""

    row: str
    producer: str
    consumer: str
    cause: str
    emit_steps: int | None
    reject_steps: int | None
    emit_cycles: int | None
    reject_cycles: int | None
    source: str
    warn: bool = False
    remark: bool = False


MN_CORE_2_HAZARDS = {
    row.row: row
    for row in (
        Hazard("1", "L1BM->L2BM", "MV reading that L2BM", "step", 2, None, None, None, "OPEN-47", remark=True),
        Hazard("2", "L1BM->L2BM", "L2BM->L1BM", "port conflict", 4, None, None, None, "SDM 3.6.3; OPEN-47", True),
        Hazard("3", "L2BM->L1BM", "L1BM->L2BM or l2bmi", "unknown", 4, None, None, None, "SDM 3.6.3; OPEN-47", True),
        Hazard("4", "l2bmi", "L1BM->L2BM or l2bmi", "unknown", 4, None, None, None, "SDM 3.6.3; OPEN-47", True),
        Hazard("5", "l2bmi", "L1BM->PE", "unknown", 4, None, None, None, "SDM 3.6.3; OPEN-47", True),
        Hazard("6", "L2BM->L1BM", "L1BM->PE", "data race", None, None, 8, 7, "SDM 3.6.3; OPEN-47, programs"),
        Hazard("7", "PE->L1BM", "L1BM->L2BM or l2bmi", "data race", None, None, 11, 11, "SDM 3.6.3; OPEN-47, programs"),
        Hazard("8", "PE->L1BM", "L1BM->PE", "port conflict", 3, 3, 11, None, "SDM 3.6.8.2; cycles OPEN-47", True),
        Hazard("8t", "PE->L1BM", "L1BM->PE via $lbi", "data race", 1, 1, None, None, "SDM 3.6.8.2"),
        Hazard("9a", "LM write", "read of the same LM", "port conflict", 3, 3, None, None, "SDM 3.6.3.9, tutorial"),
        Hazard("9b", "GRF write", "read of the same word", "data race", None, None, 7, 7, "SDM 3.6.3.9"),
        Hazard("9c", "T write", "T read or T-indirect", "data race", 2, 2, None, None, "SDM 3.6.3.9"),
        Hazard("9d", "mask register write", "use as mask", "data race", 1, 1, None, None, "SDM 3.6.3.9"),
        Hazard("9e", "BAR write", "access of that LM", "unknown", 3, None, None, None, "OPEN-47", True),
        Hazard("10", "matrix write", "matvec or transposed read", "data race", 1, 1, None, None, "SDM 3.6.3; programs"),
        Hazard("11", "any result", "forwarding", "latch", 1, 1, None, None, "SDM 3.6.1.15"),
    )
}
