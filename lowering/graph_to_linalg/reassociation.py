"""Which dimensions of two shapes of equally many elements correspond. Plain Python, no MLIR."""

from collections.abc import Sequence

Group = tuple[list[int], list[int]]


def common_groups(shape: Sequence[int], target: Sequence[int]) -> list[Group]:
    """Finest common partition: group k multiplies the same number of elements on both sides.

    Returns (dimensions of `shape`, dimensions of `target`) per group; both sides are covered in
    order. Empty when either side has rank 0. All extents must be positive and both products equal.
    """
    if not shape or not target:
        return []
    groups: list[Group] = []
    i = j = 0
    while i < len(shape) and j < len(target):
        before, after = [i], [j]
        left, right = shape[i], target[j]
        while left != right:
            if left < right:
                i += 1
                before.append(i)
                left *= shape[i]
            else:
                j += 1
                after.append(j)
                right *= target[j]
        groups.append((before, after))
        i, j = i + 1, j + 1
    # What is left on one side are ones.
    groups[-1][0].extend(range(i, len(shape)))
    groups[-1][1].extend(range(j, len(target)))
    return groups
