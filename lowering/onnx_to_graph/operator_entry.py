"""A row of the tables of supported operators."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mnc.lowering.onnx_to_graph.node import Node


@dataclass(frozen=True)
class Operator:
    """How an operator is imported, and which versions of its definition the handler knows."""

    handler: Callable[[Node], Any]
    versions: tuple[int, ...]
    note: str = ""
