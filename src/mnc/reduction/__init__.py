"""Shrinking a model to the fewest nodes and the smallest shapes that still show something."""
