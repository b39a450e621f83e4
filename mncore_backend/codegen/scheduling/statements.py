"""Filled steps to statements, with the locations they work for."""

from mnc.mncore_backend.assembly.accesses import issue_group
from mnc.mncore_backend.assembly.isa import Unit
from mnc.mncore_backend.assembly.records import Expression, RepeatedNop, Statement, Step
from mnc.mncore_backend.codegen.scheduling.steps import StepRecord

NOP = Expression("nop")
_ORDER = {unit: i for i, unit in enumerate(Unit)}


class StatementWriter:
    """Appends steps to a program; runs of empty steps become ``nop/<N>``."""

    def __init__(self) -> None:
        self._statements: list[Statement] = []
        self._locations: list[frozenset[str]] = []
        self._nops = 0

    def write(self, record: StepRecord) -> None:
        """One step and the MVs before it."""
        self.transfers_at_end(record)
        if not record.nodes and record.wait is None:
            self._nops += 1
            return
        self._flush()
        expressions = [node.expression for node in record.nodes if node.expression is not None]
        expressions.sort(key=lambda e: _ORDER[issue_group(e)])
        if not expressions:
            expressions.append(NOP)
        if record.wait is not None:
            expressions.append(Expression("wait", tag=record.wait))
        self._statements.append(Step(tuple(expressions)))
        self._locations.append(frozenset(node.op.location for node in record.nodes if node.op.location))

    def transfers_at_end(self, record: StepRecord) -> None:
        """The MVs before a step that may be the end of the program."""
        for node in record.transfers:
            assert node.transfer is not None
            self._flush()
            self._statements.append(node.transfer)
            self._locations.append(frozenset({node.op.location} - {""}))
        record.transfers = []

    def _flush(self) -> None:
        if self._nops:
            self._statements.append(Step((NOP,)) if self._nops == 1 else RepeatedNop(self._nops))
            self._locations.append(frozenset())
            self._nops = 0

    def result(self) -> tuple[list[Statement], list[frozenset[str]]]:
        """Statements and locations, of equal length. Trailing nops are dropped."""
        return self._statements, self._locations
