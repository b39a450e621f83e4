"""Vector kernels: comparisons and selects, rounding, address patterns, in-place work, random bodies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnc.core.diagnostics import InternalError
from mnc.mncore_backend.kernels.vector import Access, Body, ConstantPool, Output, Scalar, VectorKernel, emit_vector
from mnc.mncore_backend.program import LOCAL_MEMORY, Buffer, BufferOperand, MachineOp

from .harness import PE_COUNT, Bench, apply, random_singles, ulp_error

RANDOM = np.random.default_rng(11)
COMPARE = {
    "oeq": np.equal,
    "une": np.not_equal,
    "olt": np.less,
    "ole": np.less_equal,
    "ugt": np.greater,
    "oge": np.greater_equal,
}


def pairs() -> tuple[np.ndarray, np.ndarray]:
    """Small halves with many ties, values whose difference is subnormal, zeros of both signs, infinities."""
    x, y = (RANDOM.integers(-5, 5, 4096).astype(np.float32) / 2 for _ in range(2))
    tiny = random_singles(RANDOM, 4000, 2.0**-126, 2.0**-124)
    x = np.concatenate([x, tiny, [-0.0, 0.0, np.inf, -np.inf]]).astype(np.float32)
    y = np.concatenate([y, np.roll(tiny, 1), [0.0, -0.0, np.inf, np.inf]]).astype(np.float32)
    return x, y


@pytest.mark.parametrize("predicate", COMPARE)
def test_float_comparison(predicate: str) -> None:
    x, y = pairs()
    result = apply(lambda b, u, v: b.op("cmpf", u, v, predicate=predicate), x, y, result=np.uint32)
    np.testing.assert_array_equal(result, COMPARE[predicate](x, y))


@pytest.mark.parametrize("predicate", ["ogt", "ugt"])
def test_greater_than_zero(predicate: str) -> None:
    """Known at compile time or not, zero divides the numbers alike; subnormal ones are zeros."""
    x = np.concatenate([pairs()[0], np.array([1, 0x80000001, 0x007FFFFF, 0x807FFFFF], np.uint32).view(np.float32)])
    known = apply(
        lambda b, u: b.op("select", b.op("cmpf", u, b.constant(0.0), predicate=predicate), u, b.constant(0.0)), x
    )
    expected = np.where(x >= np.finfo(np.float32).smallest_normal, x, np.float32(0))
    np.testing.assert_array_equal(known.view(np.uint32), expected.view(np.uint32))
    computed = apply(
        lambda b, u, v: b.op("cmpf", u, v, predicate=predicate), x, np.zeros_like(x), result=np.uint32
    )
    np.testing.assert_array_equal(known > 0, computed)


@pytest.mark.parametrize("predicate", COMPARE)
def test_select(predicate: str) -> None:
    x, y = pairs()

    def body(b: Body, u: Scalar, v: Scalar) -> Scalar:
        return b.op("select", b.op("cmpf", u, v, predicate=predicate), u, b.op("mulf", v, b.constant(2.0)))

    np.testing.assert_array_equal(apply(body, x, y), np.where(COMPARE[predicate](x, y), x, y * 2))


def test_logic_of_conditions_and_select_by_a_stored_one() -> None:
    x, y = pairs()
    stored = (RANDOM.integers(0, 2, len(x))).astype(np.uint32)

    def body(b: Body, u: Scalar, v: Scalar, w: Scalar) -> Scalar:
        less = b.op("cmpf", u, v, predicate="olt")
        both = b.op("andi", less, b.op("cmpf", u, b.constant(0.0), predicate="oge"))
        either = b.op("xori", b.op("ori", both, w), b.constant(1, "i1"))
        return b.op("addf", b.op("select", either, u, v), b.op("uitofp", less))

    result = apply(body, x, y, stored, types=("f32", "f32", "i1"))
    either = ~(((x < y) & (x >= 0)) | stored.astype(bool))
    with np.errstate(over="ignore"):
        expected = np.where(either, x, y) + (x < y)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("name", "function"),
    [("floor", np.floor), ("ceil", np.ceil), ("roundeven", np.rint), ("negf", np.negative), ("absf", np.abs)],
)
def test_rounding_and_signs(name: str, function: np.ufunc) -> None:
    x = np.concatenate([pairs()[0], RANDOM.uniform(-2e7, 2e7, 4000)]).astype(np.float32)
    x = x[(np.abs(x) > 1e-30) | (x == 0)]
    np.testing.assert_array_equal(apply(lambda b, u: b.op(name, u), x), function(x))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("addf", np.add),
        ("subf", np.subtract),
        ("mulf", np.multiply),
        ("maximumf", np.maximum),
        ("minimumf", np.minimum),
    ],
)
def test_arithmetic_equals_ieee(name: str, function: np.ufunc) -> None:
    """Products in nearly all cases: the multiplier drops what lies far below the last place. So the numbers must not
    depend on which tests ran before."""
    x, y = np.random.default_rng(11).normal(size=(2, 8192)).astype(np.float32)
    np.testing.assert_array_equal(apply(lambda b, u, v: b.op(name, u, v), x, y), function(x, y))


def test_product_and_sum_are_fused() -> None:
    x, y, z = RANDOM.normal(size=(3, 8192)).astype(np.float32)
    result = apply(lambda b, u, v, w: b.op("subf", w, b.op("mulf", u, v)), x, y, z)
    exact = z.astype(np.float64) - x.astype(np.float64) * y
    far = np.abs(exact) > 1e-3
    assert ulp_error(result[far], exact[far]).max() <= 0.51


@settings(max_examples=15, deadline=None)
@given(count=st.sampled_from([1, 2, 3, 4, 5, 7, 31, 64, 97]), seed=st.integers(0, 10**6), in_place=st.booleans())
def test_address_patterns(count: int, seed: int, in_place: bool) -> None:
    """Permuted, repeated (broadcast) and in-place accesses of any number of iterations."""
    random = np.random.default_rng(seed)
    bench, body = Bench(seed), Body()
    data = random.integers(-100, 100, (PE_COUNT, 2 * (count + 3))).astype(np.float32)
    x_offset, y_offset = random.permutation(count + 3)[:count], random.integers(0, count + 3, count)
    x, y = bench.buffer(count + 3, data), bench.buffer(count + 3, data[:, ::-1])
    target, z_offset = (x, x_offset) if in_place else (bench.buffer(count + 3), random.permutation(count + 3)[:count])
    a, b = body.input(), body.input()
    value = body.op("maximumf", body.op("addf", a, b), body.constant(-20.0))
    reads = (Access(x, x_offset), Access(y, y_offset))
    emit_vector(bench.builder, VectorKernel(count, reads, body, (Output(Access(target, z_offset), value),)))
    bench.run()
    longs = data.reshape(PE_COUNT, -1, 2)
    expected = np.maximum(longs[:, x_offset] + data[:, ::-1].reshape(PE_COUNT, -1, 2)[:, y_offset], -20)
    result = bench.words(target).view(np.float32).reshape(PE_COUNT, -1, 2)[:, z_offset]
    np.testing.assert_array_equal(result, expected)


def test_one_value_to_several_outputs() -> None:
    bench, body = Bench(), Body()
    data = RANDOM.integers(-9, 9, (PE_COUNT, 10)).astype(np.float32)
    x = bench.buffer(5, data)
    a = body.input()
    doubled = body.op("addf", a, a)
    targets = [bench.buffer(5) for _ in range(4)]
    values = [doubled, doubled, a, body.constant(3.0)]
    access = Access(x, np.arange(5))
    outputs = tuple(Output(Access(t, np.arange(5)), v) for t, v in zip(targets, values, strict=True))
    emit_vector(bench.builder, VectorKernel(5, (access,), body, outputs))
    bench.run()
    for target, expected in zip(targets, (2 * data, 2 * data, data, np.full_like(data, 3)), strict=True):
        np.testing.assert_array_equal(bench.words(target).view(np.float32), expected)


def test_kernels_of_a_program_can_share_constants() -> None:
    bench = Bench()
    data = RANDOM.integers(-9, 9, (PE_COUNT, 10)).astype(np.float32)
    x, y, z = bench.buffer(5, data), bench.buffer(5), bench.buffer(5)
    pool, i = ConstantPool(bench.builder), np.arange(5)
    for source, target in ((x, y), (y, z)):
        body = Body()
        value = body.op("mulf", body.input(), body.constant(3.0))
        kernel = VectorKernel(5, (Access(source, i),), body, (Output(Access(target, i), value),))
        emit_vector(bench.builder, kernel, pool)
    bench.run()
    np.testing.assert_array_equal(bench.words(z).view(np.float32), 9 * data)
    assert sum(op.opcode == "imm" for op in bench.program.operations) == 1


def test_no_iterations_emit_nothing() -> None:
    bench, body = Bench(), Body()
    none = np.array([], int)
    x = bench.buffer(1)
    emit_vector(bench.builder, VectorKernel(0, (Access(x, none),), body, (Output(Access(x, none), body.input()),)))
    assert not bench.program.operations


def test_reading_what_another_iteration_writes_is_refused() -> None:
    bench, body = Bench(), Body()
    x = bench.buffer(8)
    value = body.op("negf", body.input())
    with pytest.raises(InternalError, match="another one writes"):
        VectorKernel(4, (Access(x, np.arange(4)),), body, (Output(Access(x, np.arange(4) + 1), value),))


BINARY = ["addf", "subf", "mulf", "maximumf", "minimumf", "select", "negf"]
STEP = st.tuples(st.sampled_from(BINARY), *[st.integers(0, 50)] * 3)


@settings(max_examples=25, deadline=None)
@given(steps=st.lists(STEP, min_size=1, max_size=25), inputs=st.integers(1, 4), seed=st.integers(0, 999))
def test_random_bodies(steps: list[tuple[str, int, int, int]], inputs: int, seed: int) -> None:
    """Expressions over small integers, clamped so that every value stays exact."""
    random = np.random.default_rng(seed)
    arguments = [random.integers(-8, 9, 2 * PE_COUNT * 5).astype(np.float32) for _ in range(inputs)]

    def build(b: Body, *scalars: Scalar) -> Scalar:
        values = list(scalars)
        for name, *picks in steps:
            x, y, z = (values[p % len(values)] for p in picks)
            if name == "select":
                result = b.op("select", b.op("cmpf", x, y, predicate="olt"), y, z)
            else:
                result = b.op(name, x) if name == "negf" else b.op(name, x, y)
            if name == "mulf":
                result = b.op("maximumf", b.op("minimumf", result, b.constant(64.0)), b.constant(-64.0))
            values.append(result)
        return values[-1]

    values = [argument.astype(np.float64) for argument in arguments]
    for name, *picks in steps:
        x, y, z = (values[p % len(values)] for p in picks)
        functions = {"addf": np.add, "subf": np.subtract, "maximumf": np.maximum, "minimumf": np.minimum}
        if name == "select":
            values.append(np.where(x < y, y, z))
        elif name == "negf":
            values.append(-x)
        elif name == "mulf":
            values.append(np.clip(x * y, -64, 64))
        else:
            values.append(functions[name](x, y))
    if max(np.abs(v).max() for v in values) < 2**24:
        np.testing.assert_array_equal(apply(build, *arguments, seed=seed), values[-1])


def test_the_instruction_that_computes_a_result_writes_it() -> None:
    """No copy stands behind it, unless it reads the memory that the result may be in."""
    bench, body = Bench(), Body()
    data = RANDOM.standard_normal((PE_COUNT, 2)).astype(np.float32)
    access, target = Access(bench.buffer(1, data), np.arange(1)), bench.buffer(1, name="result")
    scaled = body.op("addf", body.op("mulf", body.input("f32"), body.constant(3.0)), body.constant(1.0))
    value = body.op("maximumf", scaled, body.constant(0.5))
    emit_vector(bench.builder, VectorKernel(1, (access,), body, (Output(Access(target, np.arange(1)), value),)))
    opcodes = [operation.opcode for operation in bench.program.operations]
    assert not {"ipassa", "lpassa", "fvpassa"} & set(opcodes), opcodes
    bench.run()
    expected = np.maximum(np.float64(data) * 3 + 1, 0.5).astype(np.float32)
    np.testing.assert_array_equal(bench.words(target).view(np.float32), expected)


def reads(operation: MachineOp, buffer: Buffer) -> bool:
    return any(isinstance(o, BufferOperand) and o.buffer is buffer for o in operation.sources)


def test_what_is_replaced_is_read_before_anything_is_written() -> None:
    """Steps that read and write one local memory in turn would stand three apart."""
    bench, body = Bench(), Body()
    data, change = np.random.default_rng(3).integers(-99, 99, (2, PE_COUNT, 40)).astype(np.float32)
    weight, gradient = bench.buffer(20, data), bench.buffer(20, change)
    accesses = (Access(weight, np.arange(20)), Access(gradient, np.arange(20)))
    output = Output(accesses[0], body.op("addf", body.input(), body.input()))
    emit_vector(bench.builder, VectorKernel(20, accesses, body, (output,)))
    copies = [op.opcode for op in bench.program.operations if reads(op, weight)]
    assert copies == 5 * ["ipassa"]
    bench.run()
    np.testing.assert_array_equal(bench.words(weight).view(np.float32), data + change)


@pytest.mark.parametrize("swapped", [False, True])
def test_of_two_inputs_in_one_memory_the_earlier_is_copied(swapped: bool) -> None:
    bench, first, body = Bench(), Body(), Body()
    data = np.random.default_rng(3).integers(-99, 99, (PE_COUNT, 2)).astype(np.float32)
    one = np.arange(1)
    early, late, target = bench.buffer(1, data), bench.buffer(1), bench.buffer(1)
    early.memory = late.memory = None
    copied = (Output(Access(late, one), first.op("addf", first.input(), first.constant(1.0))),)
    emit_vector(bench.builder, VectorKernel(1, (Access(early, one),), first, copied))
    known = len(bench.program.operations)
    both = (late, early) if swapped else (early, late)
    output = Output(Access(target, one), body.op("subf", body.input(), body.input()))
    emit_vector(bench.builder, VectorKernel(1, tuple(Access(b, one) for b in both), body, (output,)))
    copy = bench.program.operations[known]
    assert copy.opcode == "ipassa" and reads(copy, early) and not reads(copy, late)
    bench.run()
    np.testing.assert_array_equal(bench.words(target).view(np.float32), np.full_like(data, 1.0 if swapped else -1.0))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_cycles_without_work_write_where_no_element_is(count: int) -> None:
    """Then all cycles of a step have places of their own, and the next kernel can take results from latches."""
    data = np.random.default_rng(3).integers(-9, 9, (PE_COUNT, 2 * count)).astype(np.float32)
    steps = []
    for spare in (-count % 4, 0):
        bench, i = Bench(), np.arange(count)
        x = bench.buffer(count, data)
        between, target = (bench.program.buffer(name, count, LOCAL_MEMORY, spare=spare) for name in "bt")
        target.pinned = True
        for source, result in ((x, between), (between, target)):
            body = Body()
            output = Output(Access(result, i), body.op("addf", body.input(), body.constant(1.0)))
            emit_vector(bench.builder, VectorKernel(count, (Access(source, i),), body, (output,)))
        written = [o for op in bench.program.operations for o in op.destinations if isinstance(o, BufferOperand)]
        assert not spare or all(len(set(o.offsets)) == 4 for o in written if o.buffer in (between, target))
        bench.run()
        np.testing.assert_array_equal(bench.words(target).view(np.float32), data + 2)
        steps.append(bench.schedule.steps)
    assert steps[0] < steps[1] or count > 3
