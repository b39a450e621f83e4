"""What a trace of decisions about layouts says about a node, in words: `placement/trace/trace_json.py`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mnc.core.diagnostics import NODE_SEPARATOR, CompileError
from mnc.core.json_text import parsed_json
from mnc.explanation.program import unknown
from mnc.mncore_backend.placement.trace.trace_json import FORMAT, VERSION

Trace = dict[str, Any]
UNITS = {
    "kernel": "MAU or ALU, the busier of the two", "second": "the other of the two",
    "sums": "sums inside of L2Bs, and the way to other L2Bs", "exchanged": "sums over L2Bs",
    "arrival": "L2BM to the PEs", "fetched": "DRAM to L2BM",
    "held": "none: room for constants that stay on the chip",
    "moves": "movements on the chip", "halos": "movements on the chip, for tiles with halos", "work": "ALU",
    "rearranged": "movements on the chip, for slices, joins and reshapes", "stored": "PEs to DRAM",
}  # fmt: skip
"""Units of the machine that are busy with each kind of steps."""
_HINT = "write it again: mnc placement MODEL --trace FILE.json"
_WAITS = "waits until its result is wanted somewhere"


def read_trace(path: Path) -> Trace:
    """A trace from a file; raises CompileError where this is none, or one of another version."""
    try:
        trace = parsed_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CompileError(f"cannot read {path}: {error.strerror}", hint=_HINT) from None
    except ValueError as error:
        raise CompileError(f"{path} is damaged: {error}", hint=_HINT) from None
    if not isinstance(trace, dict) or trace.get("format") != FORMAT:
        raise CompileError(f"{path} is no trace of decisions", hint=_HINT)
    if trace.get("version") != VERSION:
        reason = f"version {trace.get('version')}, this program reads version {VERSION}"
        raise CompileError(f"{path} was written by another version: {reason}", hint=_HINT)
    return trace


def operations_of(trace: Trace, node: str) -> list[dict[str, Any]]:
    """The operations of a node; raises CompileError where there are none, with names that exist."""
    found = [op for op in trace["operations"] if node == op["name"] or node in op["name"].split(NODE_SEPARATOR)]
    if not found:
        names = [name for op in trace["operations"] for name in op["name"].split(NODE_SEPARATOR) if name]
        raise unknown("node", node, dict.fromkeys(names))
    return found


def overview(trace: Trace) -> Iterator[tuple[str, ...]]:
    """Per operation its name, kind, place, what it adds, how many candidates it had, and how much the next best one is
    behind."""
    for op in trace["operations"]:
        chosen, *others = op["candidates"]
        behind = [own["behind"] for own in others if "behind" in own]
        next_best = f"{min(behind):,.0f}" if behind else "given up" if others else ""
        place = op["result"] or _WAITS
        yield op["name"], op["kind"], place, f"{chosen['adds']:,.0f}", str(len(op["candidates"])), next_best


def searched(trace: Trace) -> Iterator[str]:
    """How the solution was found, and what it was compared with."""
    for own in trace["searches"]:
        if own["is_chosen"]:
            best = "; no state was given up, so nothing is cheaper by these prices" if own["is_best"] else ""
            policies = " | ".join(own["policies"])
            if own["how"] == "in order":
                yield f"placed one operation after the other with the rules {policies}"
                continue
            by = ", by how long operations take" if own["is_timed"] else ""
            yield f"found in round {own['round']} with {own['width']} states and the rules {policies}{by}{best}"
            same = [
                other for other in trace["searches"]
                if all(other[key] == own[key] for key in ("round", "weights", "is_timed")) and other is not own
            ]  # fmt: skip
            yield from (f"  with {' | '.join(o['policies'])} only: price {o['price']:,.0f}" for o in same)
    for own in trace["solutions"]:
        planned = ""
        if "planned_price" in own:
            planned = f", {own['planned_price']:,.0f} with planned movements, takes {own['duration']:,.0f} steps"
        yield f"round {own['round']}: price {own['price']:,.0f}{planned}{', chosen' if own['is_chosen'] else ''}"
    for own in trace.get("programs", ()):
        yield f"compiled with {', '.join(own['preferences']) or 'plain'}: {_program(own)}"


def _program(own: dict[str, Any]) -> str:
    taken = f"{own['cycles']:,} cycles" if "cycles" in own else own.get("reason", "")
    words = {"compiled": "", "equal": " (layouts as before)", "refused": " (refused)", "dear": " (not compiled)"}
    return f"{taken}{words[own['outcome']]}{', chosen' if own['is_chosen'] else ''}"


def title(trace: Trace, op: dict[str, Any]) -> Iterator[str]:
    """Where the result of an operation is, how that came to be, and how many others there were."""
    yield f"{op['name'] or op['kind']} ({op['kind']}) gives {'x'.join(map(str, op['shape'])) or 'a scalar'}"
    chosen = op["candidates"][0]
    if op["placed"] is None:
        yield f"  its result is at {op['result']}: {_follows(op)}" if op["result"] else f"  it {_WAITS}, or is a view"
    else:
        yield f"  its result is at {op['result']}"
        yield from (f"  it reads operand {i} at {o or 'tiles'}" for i, o in enumerate(op["placed"]["operands"]))
        yield from (f"  {line}" for line in _how(op["placed"]))
        if op["placed_with"] != op["number"]:
            yield f"  it was placed together with {_named(trace, op['placed_with'])}, whose costs include its own"
    if len(op["candidates"]) > 1 or "plans" in op:
        yield f"  followed the rules: {chosen['policy']}"
    if "plans" in op:
        no_room = op["plans_without_room"]
        yield f"  {op['plans']} plans were priced{f', of which {no_room} have no room' if no_room else ''}"
    states = op["states"]
    yield (
        f"  of {states['met']} states that it led to {states['merged']} lay like a cheaper one, "
        f"{states['dropped']} were too dear, {states['kept']} went on"
    )


def _follows(op: dict[str, Any]) -> str:
    return "a view of what it reads" if op["kind"] in ("transposition", "reshape") else "it follows from others"


def _named(trace: Trace, number: int) -> str:
    operations = trace["operations"]
    return (operations[number]["name"] or operations[number]["kind"]) if number < len(operations) else "the results"


def _how(placed: dict[str, Any]) -> Iterator[str]:
    if "matrix" in placed:
        yield f"the {placed['matrix']} factor is the matrix"
    if "partial_sums" in placed:
        yield f"partial sums are at {placed['partial_sums']}"
    if "parts" in placed:
        parts, sides = placed["parts"], ("left", "right")
        yield f"the {sides[parts['factor']]} factor comes in parts of {parts['long_words']} long words per PE"


def costs(trace: Trace, op: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Kind, unit, steps, weight and price of what the chosen candidate of an operation adds; no weights where a search
    went by durations."""
    for kind, steps in op["candidates"][0]["steps"].items():
        if trace["is_timed"]:
            yield kind, UNITS[kind], f"{steps:,.0f}", "", ""
            continue
        weight = trace["weights"][kind]
        yield kind, UNITS[kind], f"{steps:,.0f}", f"{weight:g}", f"{weight * steps:,.0f}"


def candidates(op: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """What each candidate of an operation is, what it adds, by kinds, the price of a solution with it, and why it
    lost."""
    for own in op["candidates"]:
        steps = ", ".join(f"{kind} {steps:,.0f}" for kind, steps in own["steps"].items() if steps >= 1)
        complete = f"{own['complete']:,.0f}" if "complete" in own else ""
        yield _what(op, own), steps, f"{own['adds']:,.0f}", complete, _why(own)


def _what(op: dict[str, Any], own: dict[str, Any]) -> str:
    placed = next((p for p in own["placed"] if p["operation"] == op["number"]), None)
    if placed is None:
        return _WAITS if op["kind"] == "loops" else "nothing to decide"
    others = [p["name"] for p in own["placed"] if p is not placed]
    matrix = f", {placed['matrix']} is the matrix" if "matrix" in placed else ""
    operands = " x ".join(o or "tiles" for o in placed["operands"])
    beside = f"; with {', '.join(others)}" if others else ""
    rules = f", rules {own['policy']}" if own["policy"] != op["candidates"][0]["policy"] else ""
    return f"{operands} -> {placed['result']}{matrix}{rules}{beside}"


def _why(own: dict[str, Any]) -> str:
    """Why a candidate lost, in a few words."""
    reasons = [] if own["has_room"] else ["no room in local memory"]
    over = f"{own.get('over', 0.0):,.0f}"
    match own["outcome"]:
        case "chosen":
            reasons.append("chosen")
        case "not followed":
            is_dearer = own.get("over", 0.0) > 0
            reasons.append(f"not followed: {f'dearer at once by {over}' if is_dearer else 'as in the layer before'}")
        case "merged":
            reasons.append(f"another leaves everything alike and is cheaper by {over}")
        case "dropped":
            reasons.append(f"dropped at once, {over} above the last that was kept")
    if own["outcome"] in ("kept", "merged"):
        if "behind" in own:
            reasons.append(f"{own['behind']:,.0f} dearer in the end" if own["behind"] >= 0.5 else "as good in the end")
        elif "given_up" in own:
            at = own["given_up"]
            where = at["name"] or f"operation {at['operation']}"
            reasons.append(f"dropped at {where}, {at['over']:,.0f} above the last that was kept")
    return "; ".join(reasons)
