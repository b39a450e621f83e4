"""Differentiation on the graph level: one table of rules, one file per family of operations."""
