"""What a model must still show while it shrinks."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import onnx

from mnc.core.diagnostics import CompileError, InternalError
from mnc.mncore_backend.emulator.errors import EmulationError
from mnc.options import Options

KINDS = ("wrong", "crash", "refused")
_CYCLES = re.compile(r"cycles\s*>\s*(\d[\d,_]*)")
_DETAILS = re.compile(r"'[^']*'|\[[^\]]*\]|\d[\d,.xe+-]*")


@dataclass(frozen=True)
class Seen:
    """What a model showed: a text that tells one fault from another, and a message for people."""

    key: str
    message: str


Condition = Callable[[onnx.ModelProto], Seen | None]
"""What is seen, or None where the model does not show what is looked for."""


def parse_condition(text: str, options: Options, seed: int = 0) -> Condition:
    """``wrong``, ``crash``, ``refused`` or ``cycles>N``; raises CompileError for anything else."""
    if match := _CYCLES.fullmatch(text.strip()):
        most = int(match[1].replace(",", "").replace("_", ""))
        return lambda model: _slow(model, options, most)
    conditions: dict[str, Condition] = {
        "refused": lambda model: _refused(model, options),
        "crash": lambda model: _crash(model, options, seed),
        "wrong": lambda model: _wrong(model, options, seed),
    }
    if text not in conditions:
        raise CompileError(f"--when: cannot read '{text}'", hint=f"write {', '.join(KINDS)} or \"cycles>1000\"")
    return conditions[text]


def skeleton(message: str) -> str:
    """A message without names and numbers, which change while a model shrinks."""
    return " ".join(_DETAILS.sub("_", message).split())


def _refused(model: onnx.ModelProto, options: Options) -> Seen | None:
    from mnc.compiler import compile

    try:
        compile(model, options)
    except CompileError as error:
        message = CompileError(error.message, error.node, error.op_type, error.hint).render()  # without the place
        return Seen(f"{error.op_type} {skeleton(error.message)}", message)
    except Exception:
        return None
    return None


def _crash(model: onnx.ModelProto, options: Options, seed: int) -> Seen | None:
    """Anything but an answer or a refusal: while compiling, or on the emulator."""
    from mnc.compiler import compile
    from mnc.reference import random_inputs

    try:
        executable = compile(model, options)
        executable.run(random_inputs(model, {}, seed, {}))
    except EmulationError as error:  # before CompileError, of which it is one: here nobody but us wrote the program
        return Seen(f"EmulationError {error.rule} {skeleton(error.message)}", error.render())
    except CompileError:
        return None
    except InternalError as error:
        _forget_reproducer(error)
        where = f" in pass {error.failing_pass}" if error.failing_pass else ""
        return Seen(f"InternalError {skeleton(error.message)}", f"internal error: {error.message}{where}")
    except Exception as error:
        return Seen(f"{type(error).__name__} {skeleton(str(error))}", f"{type(error).__name__}: {error}")
    return None


def _forget_reproducer(error: InternalError) -> None:
    """The file of a try is of no use to anybody."""
    if error.reproducer is not None:
        error.reproducer.unlink(missing_ok=True)


def _wrong(model: onnx.ModelProto, options: Options, seed: int) -> Seen | None:
    from mnc.compiler import compile
    from mnc.reference import compare, random_inputs

    try:
        inputs = random_inputs(model, {}, seed, {})
        rows = compare(model, compile(model, options).run(inputs), inputs, options.precision)
    except Exception:  # what does not run is another fault
        return None
    bad = [row for row in rows if not row.passed and not row.undefined]
    if not bad:
        return None
    worst = max(bad, key=lambda row: row.error - row.bound)
    return Seen("wrong", f"'{worst.name}' is off by {worst.error:.3g}, the bound is {worst.bound:.3g}")


def _slow(model: onnx.ModelProto, options: Options, most: int) -> Seen | None:
    from mnc.compiler import compile
    from mnc.mncore_backend.assembly import parse_program
    from mnc.mncore_backend.codegen.report.cost import cost_of

    try:
        cycles = cost_of(parse_program(compile(model, options).text)).cycles
    except Exception:  # what does not compile takes no cycles
        return None
    return Seen("cycles", f"{cycles} cycles, more than {most}") if cycles > most else None
