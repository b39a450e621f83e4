"""Code generators that write machine operations over processing-element buffers: element-wise and reducing vector
kernels, matrix products, and the elementary functions both are built on. Plain Python, no MLIR."""
