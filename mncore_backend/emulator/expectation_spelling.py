"""Comments behind a ``d get`` that are meant to expect something, but are not written so that they do.

A comment may say anything in any language. It is refused only where a word of the notation stands before a value, or a
word that is nearly one: a value that nobody compares would count as right.
"""

import difflib
import re

_WORDS = ("expect", "expected", "atol", "rtol", "dtype")
_ASSIGNED = re.compile(r"\b([A-Za-z_]+)\s*(?:=|:?\s*(?=\[))\s*([^\s,;]?)")
_SIMILAR = 0.75


def check_spelling(comment: str, *, is_read: bool) -> None:
    """Raises ValueError where a word of the notation is misspelt, has no value, or begins a list that does not end.

    Args:
        is_read: whether an expectation was found in the comment.
    """
    for word, value in _ASSIGNED.findall(comment):
        if word not in _WORDS:
            close = difflib.get_close_matches(word.lower(), _WORDS, 1, _SIMILAR)
            if close:
                raise ValueError(f"there is no '{word}'; did you mean '{close[0]}'?")
        elif not value:
            raise ValueError(f"'{word}' has no value")
        elif word.startswith("expect") and not is_read:
            raise ValueError(f'\'{word}\' is followed by neither [values] nor "text"; write expect=[1, 2]')
