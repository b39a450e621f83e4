"""Where the parts of a joined tensor have to be so that nothing moves any more."""

from mnc.mncore_backend.layout import Layout, layout_of, part
from mnc.mncore_backend.pricing.box import Box
from mnc.mncore_backend.target import cached_per_machine


@cached_per_machine(1 << 14)
def place_of_box(shape: tuple[int, ...], result: Layout, box: Box) -> Layout | None:
    """The layout in which all elements of a tensor are in the PEs that hold them as a part of `result`; None if there
    is none, or if the result does not take the whole tensor."""
    if any(len(own) != extent for own, extent in zip(box.shared(shape, result.shape), shape, strict=True)):
        return None
    parts = [part(own, -start, n) for own, n, start in zip(result.dims, shape, box.starts, strict=True)]
    return None if any(own.torn for own in parts) else layout_of(shape, parts)
