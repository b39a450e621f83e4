"""Answers about a compiled program, from its record: what a node costs, what a step does, where a tensor lies, why."""
