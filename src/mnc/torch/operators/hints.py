"""What can be written in the place of an operator that is not supported."""

from mnc.torch.elimination import MOST_ROWS

NO_RANDOM = "a compiled program draws no random numbers; pass them as an input"
NO_DROPOUT = "set the dropout probability to 0: a compiled program draws no random numbers"
_TOO_LARGE = f"matrices of up to {MOST_ROWS} rows are factorized: give the factors, or the inverse, as an input"
_NO_VALUES = "give singular values and eigenvalues as an input, or approach the largest one by products with a vector"
_NO_FACTORS = "use torch.linalg.solve, inv or lstsq of the matrix itself"
_COUNT = "its result has a shape that depends on values"
_GENERAL = "docs/torch.md lists the supported operators"

_HINTS = {
    **dict.fromkeys(("native_dropout", "bernoulli", "bernoulli_"), NO_DROPOUT),
    **dict.fromkeys(
        ("rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "normal",
         "normal_functional", "uniform", "exponential", "multinomial", "poisson",
         "rrelu_with_noise_functional"), NO_RANDOM),
    **dict.fromkeys(
        ("linalg_inv_ex", "_linalg_solve_ex", "linalg_cholesky_ex", "cholesky", "cholesky_inverse", "cholesky_solve",
         "linalg_qr", "linalg_solve_triangular", "triangular_solve", "linalg_householder_product", "_linalg_slogdet"),
        _TOO_LARGE),
    **dict.fromkeys(("linalg_lu_factor_ex", "linalg_lu_solve", "linalg_lu", "linalg_pinv", "linalg_ldl_factor_ex"),
                    _NO_FACTORS),
    **dict.fromkeys(("_linalg_svd", "_linalg_eigh", "_linalg_eigvals", "linalg_eig"), _NO_VALUES),
    "_local_scalar_dense": "forward and loss must not read values of tensors, as item(), float() and bool() do",
    "nonzero": f"{_COUNT}; use torch.nonzero_static with a size, or torch.where with a mask",
    "masked_select": f"{_COUNT}; use torch.where with the mask",
    "index": "use torch.where with the mask",
    "index_put": "use masked_scatter, or torch.where with the mask",
    "bincount": f"{_COUNT}; (x.unsqueeze(1) == torch.arange(n)).sum(0) counts the numbers below n",
    **dict.fromkeys(("_unique2", "unique_dim", "unique_consecutive"),
                    f"{_COUNT}; torch.sort, and compare each element with the one before it"),
    "mode": "take the argmax of counts, (x.unsqueeze(-1) == x.unsqueeze(-2)).sum(-1).argmax(-1)",
    "special_erfcx": "use torch.exp(x * x) * torch.erfc(x), where x is small",
    "segment_reduce": "use index_add or index_reduce, with the number of the segment for each row",
    **dict.fromkeys(("_fake_quantize_learnable_per_tensor_affine", "_fake_quantize_learnable_per_channel_affine"),
                    "use (torch.clamp(torch.round(x / scale) + zero, low, high) - zero) * scale"),
    **dict.fromkeys(("__lshift__", "__rshift__", "bitwise_left_shift", "bitwise_right_shift"),
                    "integers have 32 bits: shift by 0 to 30"),
    "embedding_renorm": "leave max_norm of the embedding out",
    "_sparse_coo_tensor_with_dims_and_tensors":
        "use sparse=False, and in place of a product with a sparse matrix index_add of the rows that it adds",
}  # fmt: skip


def special_hint(name: str) -> str | None:
    """What to do without the operator `name`, where it is one of those that are known to be asked for."""
    return _HINTS.get(name)


def hint_for(name: str) -> str:
    """What to do without the operator `name`."""
    return special_hint(name) or _GENERAL
