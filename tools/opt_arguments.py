"""The command line of ``mnc-opt`` as users of ``mlir-opt`` write it, brought into the form that click reads.

One dash is as good as two, values of flags and of passes are attached by ``=``, and every pass is a flag of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import click

from mnc.core.diagnostics import CompileError

_TRUE, _FALSE = ("true", "1", "True", "TRUE"), ("false", "0", "False", "FALSE")


@dataclass
class Arguments:
    """What the command line says: `options` for click, and the passes given as flags, in order."""

    options: list[str] = field(default_factory=list)
    passes: list[tuple[str, str]] = field(default_factory=list)


class _Spellings:
    """The options of a click command by their long names."""

    def __init__(self, parameters: Sequence[click.Parameter]) -> None:
        self.by_name: dict[str, click.Option] = {}
        for option in parameters:
            if isinstance(option, click.Option):
                names = (*option.opts, *option.secondary_opts)
                self.by_name.update({name.lstrip("-"): option for name in names})

    def spelled(self, name: str) -> str:
        """``-o`` or ``--output``, as click wants it."""
        return f"-{name}" if len(name) == 1 else f"--{name}"


def split_arguments(
    arguments: Sequence[str], parameters: Sequence[click.Parameter], defaults: Mapping[str, str]
) -> Arguments:
    """Tell options from passes.

    Args:
        parameters: of the click command.
        defaults: options whose value may be left out, and what it then is.

    Raises:
        CompileError: a flag has a value that is neither true nor false.
    """
    spellings = _Spellings(parameters)
    out = Arguments()
    waiting = False  # for the value of the option before
    for position, argument in enumerate(arguments):
        if argument == "--":
            out.options += arguments[position:]
            break
        if waiting or not argument.startswith("-") or argument == "-":
            out.options.append(argument)
            waiting = False
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        option = spellings.by_name.get(name)
        if option is None:
            out.passes.append((name, value))
        elif option.is_flag:
            out.options += _flag(spellings, option, name, value) if equals else [spellings.spelled(name)]
        elif equals or name in defaults:
            out.options += [spellings.spelled(name), value if equals else defaults[name]]
        else:
            out.options.append(spellings.spelled(name))
            waiting = True
    return out


def _flag(spellings: _Spellings, option: click.Option, name: str, value: str) -> list[str]:
    """``--verify-each=0`` is ``--no-verify-each``; a flag that is off anyway is left out."""
    if value not in (*_TRUE, *_FALSE):
        raise CompileError(f"--{name} is a flag, it cannot be '{value}'", hint=f"write --{name}, or --{name}=false")
    if value in _TRUE:
        return [spellings.spelled(name)]
    return list(option.secondary_opts[:1])
