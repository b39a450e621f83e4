"""Programs of machine operations over buffers without addresses: what kernels and movements write, and what code
generation reads. How tensors of the host lie in DRAM belongs to it."""

from mnc.mncore_backend.program.operations import (
    COORDINATE,
    LOCAL_MEMORY,
    PASSES,
    PE_MEMORY,
    REGISTER_FILE,
    AnyOperand,
    Buffer,
    BufferOperand,
    Builder,
    MachineOp,
    Origin,
    Program,
    kernel_of_origin,
    local,
    spare_lanes,
    upper,
    with_mask,
)

__all__ = [
    "COORDINATE",
    "LOCAL_MEMORY",
    "PASSES",
    "PE_MEMORY",
    "REGISTER_FILE",
    "AnyOperand",
    "Buffer",
    "BufferOperand",
    "Builder",
    "MachineOp",
    "Origin",
    "Program",
    "kernel_of_origin",
    "local",
    "spare_lanes",
    "upper",
    "with_mask",
]
