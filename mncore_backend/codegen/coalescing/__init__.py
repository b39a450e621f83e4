"""Copies between kernels that who computes the value can do without."""
