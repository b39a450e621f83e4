"""What exists at each level; no transformation. A dialect namespace must equal its module's name here."""

DIALECTS: dict[str, str] = {
    "graph": "mnc.dialects.graph",
    "mncore": "mnc.dialects.mncore",
}
"""Dialect namespace -> module offering ``DIALECT`` and, optionally, ``attach_interfaces()``."""
