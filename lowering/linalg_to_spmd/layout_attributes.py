"""Names of the attributes in which decisions about layouts stand on operations."""

OPERANDS, RESULT, PRECISION = "mncore.operands", "mncore.result", "mncore.precision"
PARTIAL = "mncore.partial"
"""Layout of the partial sums of a contraction, where it differs from the layout of the result."""
MATRIX = "mncore.matrix"
"""Of a contraction: which factor is the matrix, ``left`` or ``right``."""
PRICE = "mncore.price"
"""Steps of a function in these layouts, by the prices the decisions went by: what compares one policy with another."""
