"""Why the tensors of a model live where they do: every decision of the compiler about layouts, as plain data.

What is in it, `docs/placement-trace.schema.json` says; `mnc explain FILE.json` prints it.
"""

from collections.abc import Mapping
from typing import Any

from mnc.arguments import read_model
from mnc.core.recording import TRACES, Recording, recording
from mnc.executable import Executable
from mnc.options import Options


def compile_traced(
    model: Any, options: Options | Mapping[str, Any] | None = None, *, sample: Any = None
) -> tuple[Executable, dict[str, Any]]:
    """The program of a model, compiled anew, and the decisions about its layouts. Of a model of equal layers they are
    those of one layer.

    Args:
        model: as for `mnc.compile`.
        options: as for `mnc.compile`.
        sample: as for `mnc.compile`.

    Raises:
        CompileError: the model cannot be compiled.
    """
    from mnc.compiler import compile as compile_anew

    source = read_model(model, sample)
    with recording(is_traced=True) as kept:
        executable = compile_anew(source, Options.of(options))
    return executable, decisions_of(kept)


def decisions_of(kept: Recording) -> dict[str, Any]:
    """The decisions that led to a program, from a recording of its compilation in which they were traced, and the
    programs that were compared; nothing where the program is made without any."""
    traces = [trace for attempt in kept.relevant for trace in attempt.notes.get(TRACES, ())]
    if not traces:
        return {}
    programs: list[dict[str, Any]] = [{**own, "is_chosen": False} for own in kept.programs]
    for own in reversed(programs):
        if ", ".join(own["preferences"]) == kept.outcome.label and own["outcome"] != "refused":
            own["is_chosen"] = True
            break
    return {**max(traces, key=lambda trace: len(trace["operations"])), "programs": programs}
