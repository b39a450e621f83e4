"""Matrix products on the MAB's matrix unit."""

from mnc.mncore_backend.kernels.matmul.chunks import at_least_half
from mnc.mncore_backend.kernels.matmul.emit import Sums, emit_matmul, sums_fit
from mnc.mncore_backend.kernels.matmul.spec import MatmulSpec
from mnc.mncore_backend.kernels.matmul.transpose import emit_transpose

__all__ = ["MatmulSpec", "Sums", "at_least_half", "emit_matmul", "emit_transpose", "sums_fit"]
