"""Which values are in local memory when: spills to DRAM and fetches back, decided on the order of the program."""

from mnc.mncore_backend.codegen.residency.plan import Action, Kind, NoRoom, Use, Value, plan_residency

__all__ = ["Action", "Kind", "NoRoom", "Use", "Value", "plan_residency"]
