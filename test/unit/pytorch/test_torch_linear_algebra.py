"""Small matrices: inverses, factors, determinants and exponentials, for inference and in training.

The export itself proves the numbers; what is written out is also compared with torch for other sizes.
"""

import importlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch: Any = pytest.importorskip("torch", minversion="2.13", reason="PyTorch is not installed (extra 'torch')")
linalg: Any = torch.linalg
mnc_torch: Any = importlib.import_module("mnc.torch")
errors: Any = importlib.import_module("mnc.core.diagnostics")
elimination: Any = importlib.import_module("mnc.torch.elimination")


def _rand(*shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


class Transformed(torch.nn.Module):
    """A function of matrices times a matrix that is learned."""

    def __init__(self, function: Any, width: int) -> None:
        super().__init__()
        self.function, self.weight = function, torch.nn.Parameter(torch.eye(width) * 1.5 + 0.1)

    def forward(self, x: Any) -> Any:
        return self.function(x @ self.weight)


def _definite(x: Any) -> Any:
    return x @ x.mT + 0.5 * torch.eye(x.shape[-2])


def _lower(x: Any) -> Any:
    return x.tril(-1) + torch.eye(x.shape[-1]) * (x.abs() + 1)


SQUARE, BATCH, TALL, WIDE = _rand(5, 5), _rand(2, 3, 3), _rand(2, 7, 3), _rand(3, 5)

CASES: dict[str, tuple[Any, Any]] = {
    "inverse": (lambda x: linalg.inv(x) + x.inverse(), SQUARE),
    "inverses": (lambda x: linalg.inv_ex(x).inverse, BATCH),
    "negative power": (lambda x: linalg.matrix_power(x, -2), SQUARE),
    "solution": (lambda x: linalg.solve(x, x.flip(0)) + linalg.solve_ex(x, x.t()).result, SQUARE),
    "solution for vectors": (lambda x: linalg.solve(x, x[:, :, 0] ** 2), BATCH),
    "solution from the left": (lambda x: linalg.solve(x, torch.ones(4, 3), left=False), BATCH),
    "determinant of more rows": (lambda x: torch.det(x) + x.det() * x, _rand(7, 7)),
    "sign and size of a determinant": (lambda x: linalg.slogdet(x)[1] + linalg.slogdet(x).sign * x.mean(), SQUARE),
    "signs and sizes": (lambda x: torch.slogdet(x)[0] * x.slogdet()[1], BATCH),
    "logarithm of a determinant": (lambda x: torch.logdet(_definite(x)) + _definite(x).logdet() * x, SQUARE),
    "Cholesky factor": (lambda x: linalg.cholesky(_definite(x)) + linalg.cholesky(_definite(x), upper=True), BATCH),
    "solution by a Cholesky factor": (lambda x: torch.cholesky_solve(x, linalg.cholesky(_definite(x))), SQUARE),
    "inverse by a Cholesky factor": (lambda x: torch.cholesky_inverse(linalg.cholesky(_definite(x))), SQUARE),
    "triangular": (lambda x: linalg.solve_triangular(_lower(x), x.mT, upper=False), BATCH),
    "triangular, of one right side": (lambda x: linalg.solve_triangular(_lower(x), torch.eye(3), upper=False), BATCH),
    "triangular, from the left": (lambda x: linalg.solve_triangular(_lower(x).mT, x, upper=True, left=False), SQUARE),
    "triangular, of unit": (lambda x: linalg.solve_triangular(x, x, upper=True, unitriangular=True), BATCH),
    "orthogonal and triangular": (lambda x: linalg.qr(x)[0] + linalg.qr(x)[1], SQUARE),
    "tall, orthogonal and triangular": (lambda x: linalg.qr(x).Q @ linalg.qr(x).R.tanh(), TALL),
    "least squares": (lambda x: linalg.lstsq(x, x[..., :2] ** 2).solution, TALL),
    "least squares with residuals": (lambda x: linalg.lstsq(x, x[..., :2] ** 2, driver="gels").residuals, TALL),
    "shortest solution": (lambda x: linalg.lstsq(x, x[..., :2] ** 2).solution, WIDE),
    "exponential": (lambda x: torch.matrix_exp(x * torch.tensor([0.01, 4.0])[:, None, None]), BATCH),
    "rotation": (lambda x: torch.matrix_exp(3 * (x - x.t())), SQUARE),
    "density": (lambda x: torch.distributions.MultivariateNormal(x[0], _definite(x)).log_prob(x[1]), SQUARE),
}


@pytest.mark.parametrize("name", CASES)
def test_inference_and_training(name: str) -> None:
    function, x = CASES[name]
    module = Transformed(function, x.shape[-1])
    mnc_torch.export_inference(module, x)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    loss = lambda y, wanted: (y.tanh() - wanted).square().mean()  # noqa: E731
    mnc_torch.export_train_step(module, loss, optimizer, (x, torch.zeros(1)))


def test_inference_alone() -> None:
    """Torch has no gradients of these."""
    mnc_torch.export_inference(Transformed(lambda x: linalg.qr(x, mode="complete")[0], 3), TALL)
    mnc_torch.export_inference(Transformed(lambda x: linalg.qr(x, mode="r")[1], 5), WIDE)
    mnc_torch.export_inference(Transformed(lambda x: torch.triangular_solve(x, _lower(x), False)[0], 3), BATCH)


@pytest.mark.parametrize("map_", ["matrix_exp", "cayley", "householder"])
def test_orthogonal_parametrizations(map_: str) -> None:
    parametrizations: Any = importlib.import_module("torch.nn.utils.parametrizations")
    torch.manual_seed(0)
    module = parametrizations.orthogonal(torch.nn.Linear(5, 4), orthogonal_map=map_)
    mnc_torch.export_inference(module, SQUARE)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    mnc_torch.export_train_step(module, torch.nn.MSELoss(), optimizer, (SQUARE, torch.zeros(5, 4)))


@settings(max_examples=30)
@given(st.integers(1, 16), st.integers(0, 3), st.integers(0, 99))
def test_elimination(rows: int, columns: int, seed: int) -> None:
    matrix, right = _rand(2, rows, rows, seed=seed).double(), _rand(2, rows, columns, seed=seed).double()
    found = elimination.eliminate(matrix, right)
    torch.testing.assert_close(matrix @ found.solution, right, rtol=1e-6, atol=1e-6)
    sign, size = linalg.slogdet(matrix)
    torch.testing.assert_close(found.sign(), sign)
    torch.testing.assert_close(found.pivots.abs().log().sum(-1), size)


def test_zeros_on_the_diagonal() -> None:
    """The rows of a permutation are found, and its sign."""
    permutation = torch.eye(5)[[2, 0, 1, 4, 3]]
    found = elimination.eliminate(permutation, torch.eye(5))
    assert torch.equal(found.solution, permutation.t())
    assert float(found.sign()) == -1


LARGE = {
    "inverse": linalg.inv,
    "solution": lambda x: linalg.solve(x, x),
    "Cholesky factor": lambda x: linalg.cholesky(_definite(x)),
    "triangular": lambda x: linalg.solve_triangular(x, x, upper=True),
    "orthogonal and triangular": lambda x: linalg.qr(x)[0],
    "sign and size of a determinant": lambda x: linalg.slogdet(x)[1],
}


@pytest.mark.parametrize("name", LARGE)
def test_larger_ones_are_refused(name: str) -> None:
    mnc_torch.export_inference(Transformed(LARGE[name], 16), 0.1 * _rand(16, 16) + torch.eye(16))
    with pytest.raises(errors.CompileError) as caught:
        mnc_torch.export_inference(Transformed(LARGE[name], 17), 0.1 * _rand(17, 17) + torch.eye(17))
    assert "hint: matrices of up to 16 rows are factorized" in caught.value.render()


def test_the_largest_singular_value() -> None:
    """Torch's own is refused; the hint gives it."""

    def approached(x: Any) -> Any:
        vector = torch.ones(5)
        for _ in range(50):
            vector = x.t() @ (x @ vector)
            vector = vector / vector.norm()
        return (x @ vector).norm()

    x = torch.diag(torch.tensor([3.0, -1.0, 0.5, 1.0, 0.2])) + 0.1 * SQUARE
    with pytest.raises(errors.CompileError) as caught:
        mnc_torch.export_inference(Transformed(lambda x: linalg.matrix_norm(x, 2), 5), SQUARE)
    assert "approach the largest one by products with a vector" in caught.value.render()
    torch.testing.assert_close(approached(x), linalg.matrix_norm(x, 2))
    mnc_torch.export_inference(Transformed(approached, 5), x)
