"""No shape is special, and no kernel family exists twice.

A number of the compiler's source that is an extent of a model used in tests is suspicious: it may have been put there
for that model. What is left after the contexts below (versions of operators, widths of types, sizes of caches) must be
in `ALLOWED` with its reason.
"""

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import onnx
import onnx.backend.test
import pytest

from .tree import ROOT, Source, python_files, sources

COMPILER = ("passes", "lowering", "mncore_backend", "dialects")
NOT_COMPILER = (
    "mncore_backend.emulator", "mncore_backend.assembly", "mncore_backend.checker",  # read programs, know no tensors
    "mncore_backend.target",  # tables of the machine
    "lowering.onnx_to_graph.support",  # the table of operators and their versions
)  # fmt: skip
SMALLEST = 10  # smaller numbers are ranks, axes, counts of digits

ALLOWED = {
    ("lowering.cpp.body", 96): "characters of an expression before it gets a name",
    ("lowering.cpp.scalar", 10): "comparison predicate of arith",
    ("lowering.cpp.scalar", 11): "comparison predicate of arith",
    ("lowering.cpp.scalar", 12): "comparison predicate of arith",
    ("lowering.cpp.scalar", 13): "comparison predicate of arith",
    ("lowering.cpp.scalar", 14): "comparison predicate of arith",
    ("lowering.cpp.text", 10): "the code of a line feed",
    ("lowering.graph_to_linalg.scalar", 13): "comparison predicate of arith",
    ("lowering.linalg_to_spmd.tile_contractions", 25): "percent of local memory that a factor may take",
    ("lowering.linalg_to_spmd.tile_contractions", 22): "power of two of the multiply-adds that are worth tiles",
    ("lowering.onnx_to_graph.evaluator", 10): "operator set whose Resize is Upsample",
    ("lowering.onnx_to_graph.evaluator", 11): "operator set in which the amounts of Pad became an input",
    ("lowering.onnx_to_graph.runtime_operators.body", 13): "operator set since which axes are an operand",
    ("lowering.onnx_to_graph.runtime_operators.grouped_query", 10): "number of an operand",
    ("lowering.onnx_to_graph.runtime_operators.grouped_query", 11): "number of an operand",
    ("lowering.onnx_to_graph.runtime_operators.normalization", 11): "operands from a table to its zero point",
    ("lowering.onnx_to_graph.runtime_operators.quantized", 13): "operator set since which scales may be of channels",
    ("lowering.onnx_to_graph.size_limits", 26): "power of two of the elements of a constant that is made",
    ("lowering.onnx_to_graph.size_limits", 27): "power of two of the elements of a computed value",
    ("lowering.onnx_to_graph.size_limits", 34): "power of two of the multiplications of constant work",
    ("mncore_backend.placement.refine.solve_together", 24): "operations from which two processes gain time",
    ("mncore_backend.placement.candidates.costs", 48): "long words per step of a sum by way of the DRAMs, as measured",
    ("mncore_backend.placement.candidates.streams", 10): "steps at the ends of a kernel",
    ("mncore_backend.placement.candidates.streams", 12): "extents that a search looks at without success",
    ("lowering.linalg_to_spmd.scalars", 13): "comparison predicate of arith",
    ("lowering.float_formats", 10): "bits of the mantissa of half",
    ("lowering.float_formats", 14): "exponent of the smallest normal half",
    ("lowering.onnx_to_graph.extents.measuring", 13): "operator set in which the axes of ReduceSum became an input",
    ("lowering.onnx_to_graph.graph_rewriter", 13): "operator set in which Unsqueeze changed",
    ("lowering.onnx_to_graph.evaluator", 13): "operator set in which Softmax changed",
    ("lowering.onnx_to_graph.evaluator", 14): "operator set in which BatchNormalization changed",
    ("mncore_backend.placement.candidates.costs", 10): "steps of a product beside its transfers",
    ("mncore_backend.placement.candidates.costs", 12): "steps of a sum over MABs, beside its data",
    ("mncore_backend.placement.candidates.costs", 40): "steps of a sum over L1Bs, beside its data",
    ("mncore_backend.placement.candidates.contraction", 1000): "weight of memory that decides between equal plans",
    ("mncore_backend.kernels.math.approximations", 12): "terms of a series",
    ("mncore_backend.placement.candidates.tiles", 14): "steps per long word of an exchange between L1Bs, as measured",
    ("mncore_backend.placement.candidates.tiles", 24): "steps per long word of an exchange between L2Bs, as measured",
    ("mncore_backend.placement.candidates.tiles", 160): "steps of an exchange between L1Bs, as measured",
    ("mncore_backend.kernels.math.approximations", 27): "bits of accuracy of a polynomial",
    ("mncore_backend.kernels.math.approximations", 40): "terms of a series",
    ("mncore_backend.kernels.math.elementary", 10): "bits of a factor whose products with small integers are exact",
    ("mncore_backend.kernels.math.elementary", 24): "position of an exponent bit in a word",
    ("mncore_backend.kernels.math.elementary", 30): "position of the sign beside a bit of the quadrant",
    ("mncore_backend.kernels.math.fit", 30): "exchanges of the Remez algorithm",
    ("mncore_backend.kernels.math.integer", 11): "bits of a piece, so that three products of pieces are exact",
    ("mncore_backend.kernels.vector.place", 10): "instructions of a body that keep the ports of a GRF busy",
    ("mncore_backend.movement.relayout", 40): "layouts that the search of a movement looks at",
    ("mncore_backend.codegen.scheduling.scheduler", 12): "schedules to try",
    ("mncore_backend.shortest.shortest", 24): "percent of local memory that a chain of operations may take",
    ("mncore_backend.shortest.shortest", 50): "percent of local memory that values may take",
    ("mncore_backend.shortest.shortest", 1000): "cycles below which a program is compiled once",
    ("mncore_backend.shortest.trials", 12): "percent of local memory by which what is needed may be reckoned too large",
}
"""Numbers that are also extents of test models, powers of two aside: (module, number) -> what it is."""

ALLOWED_COMPARISONS = {
    ("lowering.linalg_to_spmd.scalars", 32): "width of a type",
    ("lowering.graph_to_linalg.scalar", 16): "bits of a float type",
    ("lowering.graph_to_linalg.scalar", 64): "bits of a float type",
    ("passes.affine.promote_to_local", 1024): "bytes below which promoting is not worth it, an option",
}
"""Powers of two that something is compared with: (module, number) -> what it is."""


def _arguments(path: Path) -> set[int]:
    """Numbers that the tests hand to the functions that make networks."""
    makers = {node.name for source in MAKERS for node in ast.parse(source.read_text()).body
              if isinstance(node, ast.FunctionDef)}  # fmt: skip
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    made = [call for call in calls if (call.func.attr if isinstance(call.func, ast.Attribute) else
                                       getattr(call.func, "id", "")) in makers]  # fmt: skip
    return {n.value for call in made for n in ast.walk(call) if isinstance(n, ast.Constant) and type(n.value) is int}


MAKERS = [ROOT / "test/numerics" / name for name in ("models.py", "networks.py")]
DIGITS = {8, 10, 28, 32, 64, 360, 784}
"""Images, classes, layers and batches of the classifiers of digits."""


@cache
def extents() -> frozenset[int]:
    """Extents of the light models of ONNX, of the classifiers of digits, and of the networks made by tests."""
    found = set(DIGITS)
    for path in sorted((Path(onnx.backend.test.__file__).parent / "data" / "light").glob("*.onnx")):
        model = onnx.shape_inference.infer_shapes(onnx.load(str(path)))
        for value in (*model.graph.value_info, *model.graph.input, *model.graph.output):
            found.update(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        for tensor in model.graph.initializer:
            found.update(tensor.dims)
    assert {224, 1000} <= found
    for path in python_files("test/numerics"):
        found |= _arguments(path)
    return frozenset(n for n in found if n >= SMALLEST)


def _innocent(tree: ast.AST) -> Iterator[ast.AST]:
    """Numbers whose place says what they are: versions of operators, widths of types, sizes of caches."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(isinstance(side, ast.Attribute) and side.attr in ("version", "width") for side in sides):
                yield from sides
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("get_signless", "get_unsigned", "lru_cache", "cached_per_machine"):
                yield from (inner for argument in node.args for inner in ast.walk(argument))
                yield from (keyword.value for keyword in node.keywords)


def _numbers(tree: ast.AST) -> Iterator[int]:
    skipped = {id(node) for node in _innocent(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int and id(node) not in skipped:
            yield node.value


def _compared(tree: ast.AST) -> Iterator[int]:
    """Numbers on a side of a comparison, or in a collection that something is looked up in."""
    skipped = {id(node) for node in _innocent(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                parts = side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
                yield from (p.value for p in parts if isinstance(p, ast.Constant) and type(p.value) is int
                            and id(p) not in skipped)  # fmt: skip
        if isinstance(node, ast.MatchValue) and isinstance(node.value, ast.Constant) and type(node.value.value) is int:
            yield node.value.value


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


def compiler_sources() -> list[Source]:
    """Modules that turn tensors into programs."""
    return [
        source
        for source in sources()
        if source.module.split(".")[0] in COMPILER and not source.module.startswith(NOT_COMPILER)
    ]


@pytest.mark.parametrize("source", compiler_sources(), ids=lambda source: source.module)
def test_no_extent_of_a_test_model(source: Source) -> None:
    found = {n for n in _numbers(source.tree) if n in extents() and not _is_power_of_two(n)}
    assert [n for n in sorted(found) if (source.module, n) not in ALLOWED] == []


@pytest.mark.parametrize("source", compiler_sources(), ids=lambda source: source.module)
def test_nothing_is_decided_by_an_extent_of_a_test_model(source: Source) -> None:
    found = {n for n in _compared(source.tree) if n in extents() and _is_power_of_two(n)}
    assert [n for n in sorted(found) if (source.module, n) not in ALLOWED_COMPARISONS] == []


def test_allowed_numbers_still_exist() -> None:
    trees = {source.module: source.tree for source in compiler_sources()}
    assert [key for key in ALLOWED if key[1] not in set(_numbers(trees[key[0]]))] == []
    assert [key for key in ALLOWED_COMPARISONS if key[1] not in set(_compared(trees[key[0]]))] == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("if k == 784: fast()", {784}),
        ("TILES = {(1000, 512): 3}", {1000}),
        ("if node.version >= 224: pass", set()),
        ("@lru_cache(1000)\ndef f(): pass", set()),
    ],
)
def test_what_the_rule_finds(text: str, wanted: set[int]) -> None:
    assert {n for n in _numbers(ast.parse(text)) if n in extents() and not _is_power_of_two(n)} == wanted


def test_a_comparison_with_a_power_of_two_is_found() -> None:
    assert set(_compared(ast.parse("x = a if n in (64, 3) else b\nif m == 1024: pass"))) == {64, 3, 1024}


# ---- one generator for each kind of kernel ----------------------------------------------------------------------

FAMILIES = {
    "matrix unit": (r"mfma|mmul|mwrite|mread", "mncore_backend.kernels.matmul"),
    "between memories": (r"[df]?l1bm\w*|l2bm\w*|mv[bp]\d?", "mncore_backend.movement"),
}
"""Kind of instruction -> opcodes, and the only package that emits them."""
PLANNERS = {
    f"mncore_backend.codegen.{name}" for name in ("report.cost", "scheduling.graph", "ordering.streams")
}
"""Modules that look at opcodes that others emitted, or cut a transfer in pieces."""


@pytest.mark.parametrize("family", FAMILIES)
def test_one_package_emits_a_family_of_instructions(family: str) -> None:
    pattern, home = FAMILIES[family]
    emitters = set()
    for source in compiler_sources():
        strings = {n.value for n in ast.walk(source.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        if any(re.fullmatch(pattern, text) for text in strings):
            emitters.add(source.module)
    assert emitters - PLANNERS, "the pattern finds nothing"
    assert {module for module in emitters - PLANNERS if not module.startswith(home)} == set()


def test_every_kernel_operation_has_one_generator() -> None:
    """Each function of the kernel generators that takes a whole kernel is defined once, in one package each."""
    defined: dict[str, list[str]] = {}
    for source in compiler_sources():
        for node in source.tree.body:
            if isinstance(node, ast.FunctionDef) and re.fullmatch(r"emit_(matmul|vector|reduce\w*)", node.name):
                defined.setdefault(node.name, []).append(source.module)
    assert {"emit_matmul", "emit_vector"} <= set(defined)
    assert {name: places for name, places in defined.items() if len(places) > 1} == {}


class _Anonymous(ast.NodeTransformer):
    """Names and texts replaced, so that a renamed copy looks like its original."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("n", node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg("a")


COPIED_STATEMENTS = 6


def _shape_of_code(function: ast.FunctionDef) -> str | None:
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if sum(isinstance(node, ast.stmt) for statement in body for node in ast.walk(statement)) < COPIED_STATEMENTS:
        return None
    text = "".join(ast.dump(_Anonymous().visit(ast.parse(ast.unparse(statement)))) for statement in body)
    return hashlib.sha256(text.encode()).hexdigest()


def test_no_function_is_a_copy_of_another() -> None:
    """Functions of the compiler with the same statements under other names: a mechanism that exists twice."""
    seen: dict[str, list[str]] = {}
    for source in compiler_sources():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef) and (shape := _shape_of_code(node)) is not None:
                seen.setdefault(shape, []).append(f"{source.module}.{node.name}")
    assert [places for places in seen.values() if len(places) > 1] == []
