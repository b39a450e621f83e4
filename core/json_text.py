"""Reading JSON that anybody may have written."""

import json
from typing import Any


def parsed_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError for what is none, also where it is nested so deeply that Python gives
    up."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
