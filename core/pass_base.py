"""Base class of the passes: a frozen dataclass whose fields are the command-line options."""

import dataclasses
import re
import types
import typing
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from mnc.core.bindings import ir
from mnc.core.diagnostics import CompileError

_OPTION = re.compile(r'\s*([A-Za-z][\w-]*)(?:=("(?:[^"\\]|\\.)*"|\{[^{}]*\}|[^\s"{}]+))?\s*')
_PARTS = re.compile(r"(?:[^,\\]|\\.)+", re.DOTALL)
"""Of a tuple, between commas; a backslash stands before a comma that belongs to a part."""
_NUMBERS = {int: "an integer", float: "a number"}
_TRUE, _FALSE = ("true", "1"), ("false", "0")
NO_OPTION = {"is_option": False}
"""Metadata of fields that are no options."""


def at_least(least: int, default: Any) -> Any:
    """A field whose number, or numbers, may not be smaller; its default."""
    return dataclasses.field(default=default, metadata={"least": least})


def option_name(field_name: str) -> str:
    """Spelling of a field in pipeline text: ``tile_sizes`` becomes ``tile-sizes``."""
    return field_name.replace("_", "-")


def split_options(text: str) -> dict[str, str | None]:
    """Split ``a=1 b="x y" c`` into {"a": "1", "b": "x y", "c": None}.

    Raises:
        ValueError: the text is malformed or an option occurs twice.
    """
    options: dict[str, str | None] = {}
    position = 0
    while position < len(text):
        match = _OPTION.match(text, position)
        if not match:
            raise ValueError(f"cannot read options at '{text[position:]}'")
        if match[1] in options:
            raise ValueError(f"option '{match[1]}' is given twice")
        value = match[2]
        if value is not None and value[0] == '"':
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        elif value is not None and value[0] == "{":
            value = value[1:-1]
        options[match[1]] = value
        position = match.end()
    return options


def parse_value(text: str | None, kind: Any) -> Any:
    """Read one option value of type `kind`: bool, int, float, str, Literal, tuple[T, ...], T | None.

    Raises:
        ValueError: the text is not a value of that type.
    """
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if text == "none":
            return None
        return parse_value(text, next(a for a in arguments if a is not types.NoneType))
    if kind is bool and (text is None or text in _TRUE + _FALSE):
        return text not in _FALSE
    if text is None:
        raise ValueError("a value is missing")
    if origin is tuple:
        parts = [re.sub(r"\\(.)", r"\1", part) for part in _PARTS.findall(text)]
        return tuple(parse_value(part, arguments[0]) for part in parts if part)
    if origin is typing.Literal:
        if text not in arguments:
            raise ValueError(f"'{text}' is not one of {', '.join(map(str, arguments))}")
        return text
    if kind is str:
        return text
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            raise ValueError(f"'{text}' is not {_NUMBERS[kind]}") from None
    raise ValueError(f"'{text}' is not a {getattr(kind, '__name__', kind)}")


def print_value(value: Any) -> str:
    """Text of an option value, the inverse of `parse_value`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        texts = [item if isinstance(item, str) else print_value(item) for item in value]
        value = ",".join(re.sub(r"([\\,])", r"\\\1", text) for text in texts)
        plain = r'[^\s"{}()\\]+'
    else:
        plain = r'[^\s"{}(),]+'
    text = str(value)
    if isinstance(value, str) and not re.fullmatch(plain, text):
        escaped = re.sub(r'(["\\])', r"\\\1", text)
        return f'"{escaped}"'
    return text


def option_fields(cls: type["Pass"]) -> list[dataclasses.Field[Any]]:
    """The fields of a pass that are its options."""
    return [field for field in dataclasses.fields(cls) if field.metadata.get("is_option", True)]


@lru_cache
def _kinds(cls: type["Pass"]) -> dict[str, Any]:
    """Types of the options of a pass, those that can be told."""
    try:
        return typing.get_type_hints(cls)
    except NameError:  # of a class inside of a function
        return {}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value has the type of an option; anything has a type that is not one of those of `parse_value`."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, own) for own in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(part, arguments[0]) for part in value)
    if origin is typing.Literal:
        return isinstance(value, str | int) and value in arguments
    if kind in (int, float):
        numbers = Integral if kind is int else Real
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, kind) if kind in (bool, str, types.NoneType) else True


def _kind_text(kind: Any) -> str:
    """How a message says what an option takes."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_kind_text, arguments))
    if origin is typing.Literal:
        return ", ".join(map(repr, arguments))
    if origin is tuple:
        return f"a tuple, each part {_kind_text(arguments[0])}"
    names = {**_NUMBERS, bool: "True or False", str: "a text", types.NoneType: "None"}
    return names.get(kind, str(kind))


def _check_value(own: "Pass", name: str, kind: Any) -> None:
    if not _fits(value := getattr(own, name), kind):
        message = f"pass '{own.name}': option '{option_name(name)}' is {value!r}"
        raise CompileError(message, hint=f"give {_kind_text(kind)}")


@dataclass(frozen=True)
class Pass:
    """One transformation of a module. Subclasses are frozen dataclasses with defaults for all fields.

    ``name`` is the kebab-case spelling in pipelines. ``run`` gets the module and changes it in
    place; it raises `CompileError` where the user's model cannot be compiled. The docstring of a
    subclass states *before -> after*; its first line is shown by ``mnc-opt --list-passes``.
    """

    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Raises CompileError for values of another type than the option has, and for numbers that are too small."""
        kinds = _kinds(type(self))
        for field in option_fields(type(self)):
            _check_value(self, field.name, kinds.get(field.name, Any))
            value, least = getattr(self, field.name), field.metadata.get("least")
            numbers = value if isinstance(value, tuple) else (value,)
            small = None if least is None else next((n for n in numbers if n is not None and n < least), None)
            if small is not None:
                message = f"pass '{self.name}': option '{option_name(field.name)}' is {small}"
                raise CompileError(message, hint=f"give {least} or more")

    def run(self, module: ir.Module) -> None:
        """Transform `module` in place."""
        raise NotImplementedError

    @classmethod
    def parse(cls, options: str = "") -> Self:
        """Make the pass from the option text between its braces.

        Raises:
            CompileError: unknown option or unreadable value; the hint lists the options.
        """
        hints = typing.get_type_hints(cls)
        fields = {option_name(f.name): f.name for f in option_fields(cls)}
        known = ", ".join(fields) or "none"
        try:
            given = split_options(options)
            values = {}
            for option, text in given.items():
                if option not in fields:
                    raise ValueError(f"there is no option '{option}'")
                try:
                    values[fields[option]] = parse_value(text, hints[fields[option]])
                except ValueError as error:
                    raise ValueError(f"option '{option}': {error}") from None
            return cls(**values)
        except ValueError as error:
            raise CompileError(f"pass '{cls.name}': {error}", hint=f"its options are: {known}") from None

    def __str__(self) -> str:
        """Pipeline text of the pass: the name, and the options that differ from their defaults."""
        options = []
        for field in option_fields(type(self)):
            value = getattr(self, field.name)
            default = field.default
            if default is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            if value != default:
                options.append(f"{option_name(field.name)}={print_value(value)}")
        return f"{self.name}{{{' '.join(options)}}}" if options else self.name
