"""Pieces of C++ text: expressions that know when they need parentheses, and names that do not collide."""

import re
from dataclasses import dataclass

from mnc.lowering.cpp.helpers import HELPER_NAMES

ATOM, UNARY, PRODUCT, SUM, LOOSE = 4, 3, 2, 1, 0
"""Binding strength of an expression. Everything weaker than a sum counts as loose and gets parentheses."""


@dataclass(frozen=True)
class Expression:
    """C++ text of a value.

    Attributes:
        strength: how strongly its outermost operator binds.
        reads_memory: evaluating it later, behind a store, could give another value.
        constant: its value, where it is an integer known here.
    """

    text: str
    strength: int = ATOM
    reads_memory: bool = False
    constant: int | None = None

    def at_least(self, strength: int) -> str:
        """The text, in parentheses where an operator of `strength` would tear it apart."""
        return self.text if self.strength >= strength else f"({self.text})"


def comment_text(name: str) -> str:
    """A name of the model inside a comment of one line; what would end or continue the line becomes ``?``."""
    return "".join(letter if letter.isprintable() and letter != "\\" else "?" for letter in name)


def number(value: int) -> Expression:
    """An integer literal."""
    if value == -(1 << 63):
        # The literal 9223372036854775808 alone does not fit into a signed type.
        return Expression(f"(-{(1 << 63) - 1} - 1)", ATOM, constant=value)
    return Expression(str(value), ATOM if value >= 0 else UNARY, constant=value)


def add(a: Expression, b: Expression) -> Expression:
    """a + b for indices; constants are folded."""
    if a.constant is not None and b.constant is not None:
        return number(a.constant + b.constant)
    if a.constant is not None:
        a, b = b, a
    if b.constant == 0:
        return a
    memory = a.reads_memory or b.reads_memory
    if b.constant is not None and b.constant < 0:
        return Expression(f"{a.at_least(SUM)} - {-b.constant}", SUM, memory)
    if b.text.startswith("-"):
        return Expression(f"{a.at_least(SUM)} - {b.text[1:]}", SUM, memory)
    return Expression(f"{a.at_least(SUM)} + {b.at_least(SUM)}", SUM, memory)


def multiply(a: Expression, b: Expression) -> Expression:
    """a * b for indices; constants are folded and stand behind."""
    if a.constant is not None and b.constant is not None:
        return number(a.constant * b.constant)
    if a.constant is not None:
        a, b = b, a
    if b.constant == 0:
        return number(0)
    if b.constant == 1:
        return a
    memory = a.reads_memory or b.reads_memory
    if b.constant == -1:
        return Expression(f"-{a.at_least(UNARY)}", UNARY, memory)
    return Expression(f"{a.at_least(PRODUCT)} * {b.at_least(UNARY)}", PRODUCT, memory)


def call(function: str, *arguments: Expression) -> Expression:
    """function(arguments)."""
    text = ", ".join(argument.text for argument in arguments)
    return Expression(f"{function}({text})", ATOM, any(argument.reads_memory for argument in arguments))


RESERVED = frozenset([
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
    "char", "char16_t", "char32_t", "class", "compl", "const", "constexpr", "const_cast", "continue", "decltype",
    "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false",
    "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept",
    "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register",
    "reinterpret_cast", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct",
    "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union",
    "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "main", "std", "run",
    "weights", "assert", "errno", "stdin", "stdout", "stderr", "NULL", "INFINITY", "NAN", "linux", "unix",
])  # fmt: skip
"""Words of the language and names that the generated text or a standard header uses itself."""


def identifier(name: str, otherwise: str = "value") -> str:
    """A C++ identifier that resembles `name`: no leading digit, no double underscore, no keyword."""
    text = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    if not text:
        return otherwise
    if text[0].isdigit():
        text = f"{otherwise}_{text}"
    return f"{text}_" if text in RESERVED or text in HELPER_NAMES else text


class Names:
    """Hands out identifiers, each once. A scope may be opened on top of another one."""

    def __init__(self, parent: "Names | None" = None) -> None:
        self._taken: set[str] = set()
        self._parent = parent

    def _is_taken(self, text: str) -> bool:
        return text in self._taken or (self._parent is not None and self._parent._is_taken(text))

    def take(self, wanted: str, otherwise: str = "value") -> str:
        """`wanted` as an identifier, with a number behind it where that is taken already."""
        base = text = identifier(wanted, otherwise)
        count = 2
        while self._is_taken(text):
            text = f"{base}_{count}"
            count += 1
        self._taken.add(text)
        return text


_WIDTH = 120


def wrapped(head: str, parameters: list[str], tail: str) -> str:
    """`head`, the parameters and `tail` on one line, or with a line for every parameter."""
    line = f"{head}{', '.join(parameters)}{tail}"
    return line if len(line) <= _WIDTH else f"{head}\n    {f',{chr(10)}    '.join(parameters)}{tail}"
