"""The hardware table for people: sections of rows, as plain text, Markdown and JSON."""

import json
from collections.abc import Callable
from typing import NamedTuple

from mnc.mncore_backend.target import CYCLES_PER_STEP, MATVEC_MULTIPLY_ADDS, VECTOR_MULTIPLY_ADDS, chip


class Section(NamedTuple):
    """One table with a sentence above it."""

    title: str
    text: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _size(number: int) -> str:
    """Bytes in the largest binary unit that divides them."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number >= factor and number % factor == 0:
            return f"{number // factor} {unit}"
    return f"{number} B"


def _hierarchy() -> Section:
    rows = [(x.name, str(x.count), str(x.total), x.letter, x.holds, x.source) for x in chip().levels]
    text = (
        f"All PEs run one instruction stream in lock-step. A step is {CYCLES_PER_STEP} cycles at "
        f"{chip().clock_hz // 10**6} MHz. The letter names the level in debug statements."
    )
    return Section("Hierarchy", text, ("level", "under its parent", "total", "letter", "holds", "source"), tuple(rows))


def _memories() -> Section:
    rows = []
    for facts in chip().memories.values():
        per_copy = _size(facts.addresses * facts.unit_bits // 8)
        unit = {16: "entry, 4 x 4 bits", 32: "word", 64: "long word", 128: "cycle, 2 long words", 256: "row"}
        rows.append(
            (
                facts.name,
                facts.level,
                str(facts.copies),
                str(facts.addresses),
                "entry" if facts.name == "DAR" else unit[facts.unit_bits],
                per_copy,
                _size(facts.total_bytes),
                facts.source,
            )
        )
    header = ("memory", "where", "copies", "addresses", "unit", "one copy", "all copies", "source")
    return Section("Memories", "An address beyond the last wraps around.", header, tuple(rows))


def _l1bm() -> Section:
    rows = [
        (
            f"l1bm{f.name}",
            str(f.rate),
            str(f.rate_two_long or "none"),
            str(f.alignment),
            str(f.alignment_two_long) if f.rate_two_long else "none",
            f.source,
        )
        for f in chip().l1bm_families.values()
    ]
    header = ("transfer", "one-long", "2-long", "alignment", "alignment 2-long", "source")
    return Section("L1BM to and from PE", "Long words per cycle on the L1BM side of one L1B.", header, tuple(rows))


def _l2bm() -> Section:
    rows = [(f.name, str(f.l2bm_rate), str(f.l1bm_rate), f.source) for f in chip().l2bm_families.values()]
    text = "Long words per cycle; addresses are multiples of the same numbers (OPEN-43 where not stated)."
    return Section("L2BM to and from L1BM", text, ("transfer", "L2BM side", "L1BM side", "source"), tuple(rows))


def _mv() -> Section:
    rows = []
    for form in chip().mv_forms:
        rate = f"{form.source_rate} / {form.destination_rate}"
        if form.between_groups_rate:
            rate += f" ({form.between_groups_rate} between groups)"
        counts = f"{form.source_longs(64)} / {form.destination_longs(64)}"
        shape = f"{form.opcode} {form.source} {form.destination}"
        rows.append((form.identifier, shape, counts, rate, form.origin))
    text = (
        "Sizes are multiples of 64. Long words of one source and one destination instance for n64, and long words per "
        f"cycle on either side. Duration in steps: {chip().mv_latency_steps} + data cycles / "
        f"{CYCLES_PER_STEP} (OPEN-48)."
    )
    header = ("form", "operands", "source / destination for n64", "rate", "source")
    return Section("MV transfers", text, header, tuple(rows))


def _hazards() -> Section:
    rows = [
        (h.row, h.producer, h.consumer, h.cause, _distance(h.emit_steps, h.emit_cycles),
         _distance(h.reject_steps, h.reject_cycles), h.source)
        for h in chip().hazards.values()
    ]  # fmt: skip
    text = (
        "Smallest distance from producer to consumer: statements (1 is the next one), or cycles t_read - t_write with "
        "t = 4 * statement + cycle for every shared address. Generated code keeps the first; below the second the "
        "checker reports an error; a dash means that it only warns (OPEN-47)."
    )
    header = ("row", "producer", "consumer", "cause", "emit", "reject below", "source")
    return Section("Hazards", text, header, tuple(rows))


def _distance(steps: int | None, cycles: int | None) -> str:
    parts = [f"{steps} statement{'s' if steps > 1 else ''}"] if steps is not None else []
    parts += [f"{cycles} cycles"] if cycles is not None else []
    return ", ".join(parts) or "-"


def _peaks() -> Section:
    names = {"d": "double", "f": "single", "g": "pseudo-single", "h": "half"}
    rows = [
        (
            names[p],
            str(MATVEC_MULTIPLY_ADDS[p]),
            f"{chip().peak_flops(p) / 1e12:.1f}",
            f"{chip().peak_flops(p, vector=True) / 1e12:.1f}" if p in VECTOR_MULTIPLY_ADDS else "none",
        )
        for p in MATVEC_MULTIPLY_ADDS
    ]
    dram = chip().dram_bytes_per_second_per_group * chip().groups / 1e9
    text = f"TFLOPS of the chip, two operations per multiply-add. DRAM: about {dram:.0f} GB/s for all groups."
    header = ("precision", "multiply-adds per MAB and cycle", "matrix-vector", "vector")
    return Section("Peaks", text, header, tuple(rows))


def _assumptions() -> Section:
    rows = [(a.identifier, a.constant, a.value, a.meaning) for a in chip().assumptions]
    text = "What no document settles: one named constant each. They concern cost, generated code and the checker."
    return Section("Assumptions", text, ("point", "constant", "value", "meaning"), tuple(rows))


SECTIONS: dict[str, Callable[[], Section]] = {
    "hierarchy": _hierarchy,
    "memories": _memories,
    "l1bm": _l1bm,
    "l2bm": _l2bm,
    "mv": _mv,
    "hazards": _hazards,
    "peaks": _peaks,
    "assumptions": _assumptions,
}


def sections(names: tuple[str, ...] = ()) -> list[Section]:
    """The named sections, all if none is named."""
    return [SECTIONS[name]() for name in names or SECTIONS]


def to_text(chosen: list[Section]) -> str:
    """Aligned columns."""
    parts = []
    for section in chosen:
        table = (section.header, *section.rows)
        widths = [max(len(row[i]) for row in table) for i in range(len(section.header))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
        lines.insert(1, "  ".join("-" * w for w in widths))
        parts.append("\n".join((section.title, section.text, "", *lines)) + "\n")
    return "\n".join(parts)


def to_markdown(chosen: list[Section]) -> str:
    """Tables under second-level headings."""
    parts = []
    for section in chosen:
        lines = [f"## {section.title}", "", section.text, ""]
        lines.append("| " + " | ".join(section.header) + " |")
        lines.append("|" + " --- |" * len(section.header))
        lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in section.rows]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|") if "$" not in text else f"`{text}`"


def to_json(chosen: list[Section]) -> str:
    """A list of sections, each row an object."""
    data = [{"title": s.title, "rows": [dict(zip(s.header, row, strict=True)) for row in s.rows]} for s in chosen]
    return json.dumps(data, indent=2) + "\n"
