"""Transformations that stay on one level. One pass, one file; registration is one row here."""

PASSES: dict[str, str] = {}
"""Pass name -> import path ``package.module:ClassName``."""
