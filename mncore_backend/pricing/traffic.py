"""Prices of what passes the DRAM ports: tensors that arrive, and tensors that are stored."""


from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.pricing.facts import REMEMBERED, facts
from mnc.mncore_backend.pricing.hops import cheapest
from mnc.mncore_backend.pricing.resources import Resources
from mnc.mncore_backend.target import CYCLES_PER_STEP, cached_per_machine, chip


def _arrival_rate(free_l2b: int) -> float:
    """Long words per cycle of one L2BM, given the bits of L2Bs that get the same: all do, those of a group, those of
    the same number in all groups, or none, and then the L2Bs of a group take turns."""
    machine = chip()
    inside = machine.l2bs_per_group - 1
    across = machine.l2bs - 1 & ~inside
    port = machine.dram_port_longs_per_cycle
    if free_l2b == machine.l2bs - 1:
        return port * machine.groups / machine.l2bs_per_group
    shared = (inside and free_l2b & inside) or (across and free_l2b & across == across)
    return port if shared else port / machine.l2bs_per_group


@cached_per_machine(REMEMBERED)
def arrival(layout: Layout) -> Resources:
    """What it takes to bring a tensor from DRAM to the PEs."""
    own = facts(layout)
    hops = cheapest(own)
    data = hops.longs / _arrival_rate(own.free_l2b) / CYCLES_PER_STEP
    return Resources(
        mv=max(data, chip().mv_issue_interval_steps),
        l2bm=hops.l2bm,
        l1bm=hops.l1bm,
        latency=chip().mv_latency_steps,
    )


@cached_per_machine(REMEMBERED)
def store(layout: Layout) -> Resources:
    """What it takes to bring one replica of a tensor from the PEs to DRAM."""
    own = facts(layout)
    hops = cheapest(own, upward=True)
    inside = chip().l2bs_per_group - 1
    halves = 1 if own.free_l2b & inside else chip().l2bs_per_group
    data = halves * hops.longs / chip().dram_port_longs_per_cycle / CYCLES_PER_STEP
    groups = 1 if own.free_l2b & ~inside == 0 else own.l2bs // halves
    return Resources(
        mv=max(data, halves * groups * chip().mv_issue_interval_steps),
        l2bm=hops.l2bm,
        l1bm=hops.l1bm,
        latency=chip().mv_latency_steps,
    )
