"""What a program costs, as objects: totals as attributes, nodes as rows of a table."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from html import escape
from typing import Any

from mnc.core.diagnostics import CompileError
from mnc.mncore_backend.codegen.report.cost import NodeCost

_MOST_ROWS = 30
"""Nodes that are shown where a page shows the report; `Report.rows` has all."""


@dataclass(frozen=True, repr=False)
class Report:
    """Costs of a program, from `Executable.report`.

    ``print(report)`` shows them as text, ``pandas.DataFrame(report.rows())`` makes a table of the nodes, and
    ``report.data`` is what ``report.json`` holds (`docs/report.schema.json`).
    """

    data: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Raises CompileError for what is no report."""
        if not isinstance(self.data, Mapping) or not {"total", "nodes", "ideal", "of_ideal"} <= set(self.data):
            hint = "use program.report, or give what report.json of a build directory holds"
            raise CompileError(f"a value of type {type(self.data).__name__} is no report", hint=hint)

    def _total(self, name: str) -> Any:
        return self.data["total"][name]

    @property
    def steps(self) -> int:
        """Statements of the PEs, idle ones included."""
        return self._total("steps")

    @property
    def idle_steps(self) -> int:
        """Steps that hold nothing but ``nop`` and ``wait``."""
        return self._total("idle_steps")

    @property
    def cycles(self) -> int:
        """Four per step plus stalls, by the timing model."""
        return self._total("cycles")

    @property
    def stall_cycles(self) -> int:
        """Cycles in which the PEs wait for a transfer."""
        return self._total("stall_cycles")

    @property
    def seconds(self) -> float:
        """Time at the clock of the machine."""
        return self._total("seconds")

    @property
    def mv_transfers(self) -> int:
        """MV statements that move data."""
        return self._total("mv_transfers")

    @property
    def dram_bytes(self) -> int:
        """Bytes read from and written to DRAM."""
        return self._total("dram_bytes")

    @property
    def ideal_cycles(self) -> float | None:
        """Cycles that the work of the model takes at best; None where it was not counted."""
        ideal = self.data["ideal"]
        return None if ideal is None else ideal["cycles"]

    @property
    def of_ideal(self) -> float | None:
        """Ideal over actual cycles, 0 to 1; None where the work was not counted."""
        return self.data["of_ideal"]

    @property
    def nodes(self) -> tuple[NodeCost, ...]:
        """Share of every ONNX node, the costliest first."""
        names = [entry.name for entry in fields(NodeCost)]
        return tuple(NodeCost(**{name: row[name] for name in names if name in row}) for row in self.data["nodes"])

    def rows(self) -> list[dict[str, Any]]:
        """A dictionary of plain values for every node, for `pandas.DataFrame` and the like."""
        plain = (str, int, float, bool)
        return [{key: value for key, value in row.items() if isinstance(value, plain)} for row in self.data["nodes"]]

    def __call__(self) -> str:
        """The text. Before 0.2 ``report`` was a method that returned it."""
        warnings.warn("use str(program.report)", DeprecationWarning, stacklevel=2)
        return str(self)

    def __str__(self) -> str:
        """The totals and a line for every node."""
        from mnc.report import report_text

        return report_text(dict(self.data))

    def __repr__(self) -> str:
        reached = "" if self.of_ideal is None else f", {self.of_ideal:.1%} of the ideal"
        return f"<Report: {self.steps:,} steps, {self.cycles:,} cycles{reached}, {len(self.data['nodes'])} nodes>"

    def _repr_html_(self) -> str:
        """Totals and the costliest nodes, for notebooks."""
        rows = self.rows()
        caption = escape(repr(self)[1:-1])
        shown = html_table(rows[:_MOST_ROWS])
        more = f"<p>and {len(rows) - _MOST_ROWS} more: <code>report.rows()</code></p>" if len(rows) > _MOST_ROWS else ""
        return f"<p>{caption}</p>{shown}{more}"


def html_table(rows: list[dict[str, Any]]) -> str:
    """An HTML table with the keys of the first row as its head; numbers are rounded and aligned right."""
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in rows[0])
    body = "".join(f"<tr>{''.join(_cell(row.get(name, '')) for name in rows[0])}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
        return f'<td style="text-align:right">{text}</td>'
    return f"<td>{escape(str(value))}</td>"
