"""The machines that have a name, and others made from them."""

from dataclasses import fields, replace
from functools import cache

from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.target.hierarchy import MOST_UNITS, Hierarchy
from mnc.mncore_backend.target.machine import Machine
from mnc.mncore_backend.target.memories import MN_CORE_2_SIZES

MN_CORE_2 = Machine("mn-core-2", Hierarchy(groups=4, l2bs_per_group=2, l1bs_per_l2b=8, mabs_per_l1b=16))

SMALL = Machine(
    "small",
    Hierarchy(groups=1, l2bs_per_group=2, l1bs_per_l2b=2, mabs_per_l1b=4),
    MN_CORE_2_SIZES | {Memory.PDM: 1 << 16, Memory.DRAM: 1 << 24},
)
"""A made-up machine for tests: that nothing is tied to the numbers of the other one, and faster to emulate."""

MACHINES = {machine.name: machine for machine in (MN_CORE_2, SMALL)}


@cache
def named(text: str) -> Machine:
    """A machine by its name. Numbers that differ from it may follow: counts of the hierarchy, address units of
    memories, and whole numbers among the fields of `Machine`, as in ``small,LM0=1024,groups=2,mv_latency_steps=32``.

    Raises:
        ValueError: no such machine, or no such number.
    """
    if not isinstance(text, str):
        raise ValueError(f"there is no machine {text!r}; give a name such as 'small,LM0=1024'")
    name, *changes = text.split(",")
    machine = MACHINES.get(name)
    if machine is None:
        raise ValueError(f"there is no machine '{name}'; there are: {', '.join(MACHINES)}")
    hierarchy, sizes = machine.hierarchy, dict(machine.sizes)
    numbers: dict[str, int] = {}
    for change in changes:
        key, _, value = change.partition("=")
        if not value.isdecimal():
            raise ValueError(f"'{change}' is no number of a machine; write it as LM0=1024")
        if key in MOST_UNITS:
            hierarchy = replace(hierarchy, **{key: int(value)})
        elif key in Memory.__members__ and Memory[key] in sizes:
            sizes[Memory[key]] = int(value)
        elif key in {field.name for field in fields(Machine) if field.type is int}:
            numbers[key] = int(value)
        else:
            raise ValueError(f"a machine has no number '{key}'; it has, for instance: LM0, groups, mv_latency_steps")
    return replace(machine, name=text, hierarchy=hierarchy, sizes=sizes, **numbers) if changes else machine
