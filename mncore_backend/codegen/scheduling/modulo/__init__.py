"""Modulo scheduling: how often the iterations of a loop can begin, and a schedule of its body that says so."""

from mnc.mncore_backend.codegen.scheduling.modulo.body import Body, Edge
from mnc.mncore_backend.codegen.scheduling.modulo.exact import exact_starts
from mnc.mncore_backend.codegen.scheduling.modulo.iterative import ModuloSchedule, iterative_starts, modulo_schedule
from mnc.mncore_backend.codegen.scheduling.modulo.reading import LoopBody, read_body
from mnc.mncore_backend.codegen.scheduling.modulo.recognise import Loop, find_loops
from mnc.mncore_backend.codegen.scheduling.modulo.report import LoopFacts, loop_facts

__all__ = [
    "Body",
    "Edge",
    "Loop",
    "LoopBody",
    "LoopFacts",
    "ModuloSchedule",
    "exact_starts",
    "find_loops",
    "iterative_starts",
    "loop_facts",
    "modulo_schedule",
    "read_body",
]
