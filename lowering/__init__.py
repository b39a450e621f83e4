"""Transformations that cross a level; the name of a folder or file says from and to."""

PASSES: dict[str, str] = {}
"""Pass name -> import path ``package.module:ClassName``."""
