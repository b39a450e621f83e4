"""Prices of what passes the DRAM ports: tensors that arrive, and tensors that are stored."""


from mnc.mncore_backend.layout import Layout
from mnc.mncore_backend.pricing.facts import REMEMBERED, facts
from mnc.mncore_backend.pricing.hops import cheapest
from mnc.mncore_backend.pricing.resources import Resources
from mnc.mncore_backend.target import CYCLES_PER_STEP, cached_per_machine, chip

BROADCAST_RATE, PAIR_RATE = 32, 16
"""Long words per cycle that an L2BM takes where all of them get the same, or where two or four kinds of L2Bs share what
comes from DRAM."""


@cached_per_machine(REMEMBERED)
def arrival(layout: Layout) -> Resources:
    """What it takes to bring a tensor from DRAM to the PEs."""
    own = facts(layout)
    hops = cheapest(own)
    shared = own.free_l2b & 1 or own.free_l2b & 6 == 6
    rate = BROADCAST_RATE if own.free_l2b == 7 else PAIR_RATE if shared else PAIR_RATE / 2
    data = hops.longs / rate / CYCLES_PER_STEP
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
    halves = 1 if own.free_l2b & 1 else 2
    data = halves * hops.longs / PAIR_RATE / CYCLES_PER_STEP
    groups = 1 if own.free_l2b & 6 == 0 else own.l2bs // halves
    return Resources(
        mv=max(data, halves * groups * chip().mv_issue_interval_steps),
        l2bm=hops.l2bm,
        l1bm=hops.l1bm,
        latency=chip().mv_latency_steps,
    )
