"""What can be written in the place of an operator that is not supported."""

_NO_RANDOM = "a compiled program draws no random numbers; pass them as an input"
NO_DROPOUT = "set the dropout probability to 0: a compiled program draws no random numbers"
_NO_FACTORS = "factorizations of matrices are not compiled: give the factors, or the inverse, as an input"
_COUNT = "its result has a shape that depends on values"
_GENERAL = "docs/torch.md lists the supported operators"

_HINTS = {
    **dict.fromkeys(("native_dropout", "bernoulli", "bernoulli_"), NO_DROPOUT),
    **dict.fromkeys(
        ("rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "normal",
         "normal_functional", "uniform", "exponential", "multinomial", "poisson",
         "rrelu_with_noise_functional"), _NO_RANDOM),
    **dict.fromkeys(
        ("linalg_inv_ex", "_linalg_solve_ex", "linalg_cholesky_ex", "cholesky_inverse", "cholesky_solve", "linalg_qr",
         "_linalg_eigh", "_linalg_eigvals", "linalg_eig", "linalg_lu_factor_ex", "linalg_lu_solve", "linalg_lstsq",
         "linalg_solve_triangular", "linalg_pinv", "linalg_householder_product"), _NO_FACTORS),
    "_linalg_svd": "a gradient of a determinant of more than 4 rows takes singular values, which are not compiled",
    "_linalg_slogdet": "use torch.linalg.det, and its abs() and log()",
    "linalg_matrix_exp": "add up its series, or give the exponential as an input",
    "_local_scalar_dense": "forward and loss must not read values of tensors, as item(), float() and bool() do",
    "nonzero": f"{_COUNT}; use torch.nonzero_static with a size, or torch.where with a mask",
    "masked_select": f"{_COUNT}; use torch.where with the mask",
    "index": "use torch.where with the mask",
    "index_put": "use masked_scatter, or torch.where with the mask",
    "bincount": f"{_COUNT}; (x.unsqueeze(1) == torch.arange(n)).sum(0) counts the numbers below n",
    **dict.fromkeys(("_unique2", "unique_dim", "unique_consecutive"),
                    f"{_COUNT}; torch.sort, and compare each element with the one before it"),
    "mode": "take the argmax of counts, (x.unsqueeze(-1) == x.unsqueeze(-2)).sum(-1).argmax(-1)",
    "lgamma": "write Stirling's series for x + 8, and subtract the logarithms of x, x + 1, ..., x + 7",
    "digamma": "write Stirling's series for x + 8, and subtract the reciprocals of x, x + 1, ..., x + 7",
    "special_erfcx": "use torch.exp(x * x) * torch.erfc(x), where x is small",
    "segment_reduce": "use index_add or index_reduce, with the number of the segment for each row",
    **dict.fromkeys(("fake_quantize_per_channel_affine_cachemask",
                     "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"),
                    "use (torch.clamp(torch.round(x / scale) + zero, low, high) - zero) * scale"),
    **dict.fromkeys(("__lshift__", "__rshift__", "bitwise_left_shift", "bitwise_right_shift"),
                    "integers have 32 bits: shift by 0 to 30"),
    "embedding_renorm": "leave max_norm of the embedding out",
    "_sparse_coo_tensor_with_dims_and_tensors": "use sparse=False",
}  # fmt: skip


def hint_for(name: str) -> str:
    """What to do without the operator `name`."""
    return _HINTS.get(name, _GENERAL)
