"""In which order a trip up collects the addresses of a target, so that what is collected at once lies together."""

import numpy as np

from mnc.mncore_backend.layout import Axis, Layout, locate
from mnc.mncore_backend.movement.scope import Index
from mnc.mncore_backend.target import chip


def by_rows(source: Layout, held: Index, addresses: list[int]) -> list[int] | None:
    """Target addresses in the order of what they hold in the source: L1Bs one after the other, of each the addresses,
    of each address the MABs. So l1bmd collects them, which takes four addresses of all MABs in one step, and who wants
    them in the order of the target sorts them on the way down; what several MABs hold comes down as often, to the same
    address. None where that is the order of the target anyway."""
    first = held.reshape(-1, held.shape[-1] // 2, 2)[0, addresses, 0]
    replicas = [mab for mab in range(chip().axis_size[Axis.MAB]) if mab & ~source.replicated_bits(Axis.MAB) == 0]
    if len(replicas) == chip().axis_size[Axis.MAB] or (first < 0).any():
        return None
    where = locate(source)
    taken, mab = np.repeat(first, len(replicas)), np.add.outer(where[Axis.MAB][first], replicas).reshape(-1)
    keys = [where[Axis.PE][taken], mab, where[Axis.ADDRESS][taken], where[Axis.L1B][taken]]
    order = np.repeat(addresses, len(replicas))[np.lexsort(keys)].tolist()
    return order if order != addresses else None


def taking_turns(source: Layout, held: Index, addresses: list[int]) -> list[int] | None:
    """Target addresses such that the L1Bs they come from take turns as in a block of l2bmd, which collects from all at
    once: two granules of each L1B, the same of all. None where they do not give alike."""
    first = held.reshape(-1, held.shape[-1] // 2, 2)[0, addresses, 0]
    if source.replicated_bits(Axis.L1B) or len(addresses) % (2 * chip().l1bs_per_l2b) or (first < 0).any():
        return None
    where = locate(source)
    given: list[list[tuple[int, int, int]]] = [[] for _ in range(chip().axis_size[Axis.L1B])]
    for address, element in zip(addresses, first, strict=True):
        mab, own = int(where[Axis.MAB][element]), int(where[Axis.ADDRESS][element])
        given[int(where[Axis.L1B][element])].append((mab, own, address))
    columns = [sorted(own) for own in given]
    alike = {tuple((mab, address) for mab, address, _ in own) for own in columns}
    if len(alike) != 1 or len(columns[0]) % 2:
        return None
    pairs = range(0, len(columns[0]), 2)
    return [own[i + half][2] for i in pairs for own in columns for half in range(2)]


def by_owners(source: Layout, held: Index, addresses: list[int], unit: int) -> list[int] | None:
    """Target addresses in the order of the L2Bs and L1Bs that give what they hold, so many of each that whole units of
    `unit` addresses come from one of them: the last one of each comes as often as that takes. None where that is the
    order of the target anyway, or where more than half would be repetitions."""
    first = held.reshape(-1, held.shape[-1] // 2, 2)[0, addresses, 0]
    if (first < 0).any():
        return None
    where = locate(source)
    owner = where[Axis.L2B][first] * chip().l1bs_per_l2b + where[Axis.L1B][first]
    by_owner = np.argsort(owner, kind="stable")
    ends = np.flatnonzero(np.diff(owner[by_owner])) + 1
    order: list[int] = []
    for run in np.split(np.array(addresses)[by_owner], ends):
        order += [*run.tolist(), *run[-1:].tolist() * (-len(run) % unit)]
    return order if order != addresses and len(order) <= 2 * len(addresses) else None
