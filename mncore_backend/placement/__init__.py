"""Where tensors live, as one problem: tensors and operations as plain data, candidates with prices, and solvers."""
