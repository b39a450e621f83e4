"""Element-wise and reducing kernels over the local share of tensors."""

from mnc.mncore_backend.kernels.vector.body import Access, Body, Output, Scalar, VectorKernel
from mnc.mncore_backend.kernels.vector.constants import ConstantPool
from mnc.mncore_backend.kernels.vector.emit import emit_vector

__all__ = ["Access", "Body", "ConstantPool", "Output", "Scalar", "VectorKernel", "emit_vector"]
