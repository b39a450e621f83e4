"""Programs are the same with and without the cache, byte for byte; and it never stands in the way."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import mnc
from mnc import cached_compilation
from mnc.cache import fingerprints, programs
from mnc.cache.models import model_key
from mnc.cache.prices import remembered_prices
from mnc.cache.store import Store, open_store
from mnc.executable import Executable, HostTensor
from mnc.mncore_backend.movement import DramImage
from mnc.mncore_backend.movement.ahead import Request
from mnc.mncore_backend.movement.price_book import PRICES
from mnc.mncore_backend.movement.repeats import REPEATS
from mnc.report import report

HEAD = '<ir_version: 8, opset_import: ["" : 18]> g'
RECURRENCE = HEAD + "(float[4,8] s, float[4,8] x) => (float[4,8] n) { n = Add(s, x) }"


def product(seed: int = 0) -> onnx.ModelProto:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[6,5] x) => (float[6,7] y) { h = MatMul(x, w)\n y = Relu(h) }'
    )
    w = np.random.default_rng(seed).standard_normal((5, 7)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    return model


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.delenv("MNC_NO_CACHE")
    monkeypatch.setenv("MNC_CACHE_DIR", str(tmp_path / "cache"))
    store = open_store()
    assert store is not None
    return store


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is really compiled."""
    from mnc import compiler

    done, original = [], compiler.run_stages
    monkeypatch.setattr(compiler, "run_stages", lambda *given: (done.append(given), original(*given)))
    return done


def same(first: Executable, second: Executable) -> bool:
    """Whether all that a program consists of is equal."""

    def content(executable: Executable) -> Any:
        description, arrays = programs.describe(executable)
        return description, {name: (a.dtype, a.shape, a.tobytes()) for name, a in arrays.items()}

    return content(first) == content(second) and first.text == second.text and first.ideal == second.ideal


@pytest.mark.parametrize(
    "model, options",
    [
        (product(), mnc.Options()),
        (product(), mnc.Options("single", resident="state")),
        (onnx.parser.parse_model(RECURRENCE), mnc.Options(resident="batch", updates={"s": "n"})),
    ],
)
def test_byte_for_byte(cache: Store, compilations: list[Any], model: Any, options: mnc.Options) -> None:
    from mnc.compiler import compile as compile_anew

    plain, made, found = compile_anew(model, options), mnc.compile(model, options), mnc.compile(model, options)
    assert len(compilations) == 2  # without the cache, and filling it
    assert same(plain, made) and same(made, found)
    assert report(plain) == cached_compilation.report_of(made) == cached_compilation.report_of(found)
    assert {entry.kind for entry in cache.entries()} == {"program", "report"}


def test_sequences_are_kept(cache: Store, compilations: list[Any]) -> None:
    text = "(seq(float[2]) s, optional(float[3]) o, float[2] x) => (seq(float[2]) t) { t = SequenceInsert (s, x) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> g {text}')
    shapes: Any = {"s": 2, "o": None}
    made, found = (mnc.compile(model, shapes=shapes) for _ in range(2))
    assert len(compilations) == 1 and same(made, found) and found.sequences == made.sequences
    assert [(entry.name, entry.elements) for entry in found.sequences] == [
        ("s", ("s[0]", "s[1]")), ("o", None), ("t", ("t[0]", "t[1]", "t[2]")),
    ]  # fmt: skip
    mnc.compile(model, shapes={"s": 1, "o": None})
    assert len(compilations) == 2


def test_entries_hold_every_field() -> None:
    kept = {"text", "tensors", "line_nodes", "initialise", "read_back", "unread", "preferences", "ideal", "machine"}
    kept |= {"extents", "sequences", "order"}
    assert kept | {"may_hold_nan", "source", "cache_key", "origin"} == {field.name for field in fields(Executable)}
    tensor = {"name", "role", "dtype", "image", "value"}
    assert tensor == {field.name for field in fields(HostTensor)}
    image = {"buffer", "shape", "index", "groups", "padding", "segments"}
    assert image == {field.name for field in fields(DramImage)}


def test_a_program_from_the_cache_runs(cache: Store, compilations: list[Any]) -> None:
    model, x = product(), np.random.default_rng(1).standard_normal((6, 5)).astype(np.float32)
    first, second = (mnc.compile(model).run({"x": x})["y"] for _ in range(2))
    assert len(compilations) == 1
    np.testing.assert_array_equal(first, second)


def layers(seed: int) -> onnx.ModelProto:
    """A product of activations, whose placement asks for prices of movements, with random weights."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[64,40] x) => (float[64,64] y) {'
        "a = MatMul(x, w)\n t = Transpose(a)\n s = MatMul(a, t)\n y = Softmax(s) }"
    )
    w = np.random.default_rng(seed).standard_normal((40, 48)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(w, "w"))
    return model


def test_prices_of_movements_are_kept_for_other_models(cache: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """With them less is planned, and programs are the same."""
    options, planned = mnc.Options(prefer=("together",)), []
    original = Request._planned
    monkeypatch.setattr(Request, "_planned", lambda request: (planned.append(request), original(request))[1])

    def compiled(seed: int) -> tuple[Executable, int]:
        planned.clear()
        PRICES.forget()
        REPEATS.forget()
        return mnc.compile(layers(seed), options), len(planned)

    first, all_planned = compiled(0)
    assert {entry.kind for entry in cache.entries()} >= {"prices"}
    other, still_planned = compiled(1)
    assert still_planned < all_planned
    cache.remove("prices", fingerprints.digest("prices", fingerprints.compiler_version()))
    monkeypatch.setenv("MNC_NO_CACHE", "1")
    assert same(other, replace(compiled(1)[0], cache_key=other.cache_key))
    assert other.text == first.text


def test_damaged_prices_are_found_out_anew(cache: Store) -> None:
    key = fingerprints.digest("prices", fingerprints.compiler_version())
    wrong = {"keys": np.zeros((2, 3), np.uint8), "prices": np.zeros((2, 9), np.int64)}
    assert cache.write("prices", key, {}, wrong)
    with remembered_prices(cache):
        assert cache.read("prices", key) is None


def test_every_option_counts(cache: Store) -> None:
    given: dict[str, Any] = {
        "precision": "single",
        "shapes": {"x": (1,)},
        "resident": "state",
        "updates": {"a": "b"},
        "prefer": (),
    }
    texts = {fingerprints.options_text(replace(mnc.Options(), **{name: value}), {}) for name, value in given.items()}
    assert len(texts) == len(given) and fingerprints.options_text(mnc.Options(), {}) not in texts
    known = {field.name for field in fields(mnc.Options)}
    assert set(given) | {"dump_dir"} <= known


def test_weights_and_shapes_count(cache: Store, compilations: list[Any]) -> None:
    text = '<ir_version: 8, opset_import: ["" : 18]> g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }'
    model = onnx.parser.parse_model(text)
    programs_ = [mnc.compile(product(0)), mnc.compile(product(1))]
    assert not same(*programs_)
    mnc.compile(model, shapes={"x": (3, 4)})
    mnc.compile(model, mnc.Options(shapes={"x": (3, 4)}))
    mnc.compile(model, shapes={"x": (5, 4)})
    assert len(compilations) == 4


def test_the_path_does_not_count_and_the_content_does(cache: Store, compilations: list[Any], tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.onnx", "b.onnx")]
    for path in paths:
        onnx.save(product(), path)
        mnc.compile(path)
    assert len(compilations) == 1
    onnx.save(product(5), paths[0])
    mnc.compile(paths[0])
    assert len(compilations) == 2


def test_external_data_counts(cache: Store, compilations: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(product(), path, save_as_external_data=True, location="weights", size_threshold=0)
    first, again = mnc.compile(path), mnc.compile(path)
    assert len(compilations) == 1 and same(first, again)
    data = bytearray((tmp_path / "weights").read_bytes())
    data[3] ^= 0x80  # a sign
    (tmp_path / "weights").write_bytes(data)
    assert not same(first, mnc.compile(path)) and len(compilations) == 2
    (tmp_path / "weights").unlink()
    with pytest.raises(mnc.CompileError, match="weights"):
        mnc.compile(path)


def test_a_model_that_changes_meanwhile_is_not_kept(cache: Store, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(product(), path)
    named = model_key(path, cache)
    assert named is not None and named.is_current()
    onnx.save(product(1), path.with_name("new"))
    path.with_name("new").replace(path)
    assert not named.is_current()


def test_a_damaged_entry_is_made_anew(cache: Store, compilations: list[Any]) -> None:
    first = mnc.compile(product())
    (entry,) = cache.entries()
    content = bytearray(entry.path.read_bytes())
    content[-200] ^= 1
    entry.path.write_bytes(content)
    assert same(first, mnc.compile(product())) and len(compilations) == 2
    assert same(first, mnc.compile(product())) and len(compilations) == 2


def test_another_compiler_never_meets_old_results(
    cache: Store, compilations: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    mnc.compile(product())
    monkeypatch.setattr(fingerprints, "compiler_version", lambda: "another")
    mnc.compile(product())
    assert len(compilations) == 2


def test_the_version_is_that_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "mnc"
    (package / "cache").mkdir(parents=True)
    (package / "passes.py").write_text("a = 1\n")
    monkeypatch.setattr(fingerprints, "__file__", str(package / "cache" / "fingerprints.py"))
    version: Callable[[], str] = fingerprints.compiler_version.__wrapped__
    before = version()
    assert before == version()
    (package / "passes.py").write_text("a = 2\n")
    assert before != version()


def test_pipelines_and_dumps_are_not_kept(cache: Store, tmp_path: Path) -> None:
    mnc.compile(product(), pipeline=mnc.default_pipeline())
    mnc.compile(product(), mnc.Options(dump_dir=tmp_path / "dump"))
    assert cache.entries() == []


def test_warnings_come_again_with_the_name_of_the_file(cache: Store, compilations: list[Any], tmp_path: Path) -> None:
    model = product()
    model.graph.node[1].attribute.append(onnx.helper.make_attribute("odd", 1))
    for name in ("a.onnx", "b.onnx"):
        onnx.save(model, tmp_path / name)
        with pytest.warns(UserWarning, match=f"{name}: node.*'odd' is unknown"):
            mnc.compile(tmp_path / name)
    assert len(compilations) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mnc.compile(product())


def test_errors_are_not_kept(cache: Store, tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").write_bytes(b"")
    for path in (tmp_path / "missing.onnx", tmp_path / "empty.onnx", tmp_path):
        with pytest.raises(mnc.CompileError):
            mnc.compile(path)
    assert not [entry for entry in cache.entries() if entry.kind == "program"]


def test_no_directory_is_no_error(
    cache: Store, compilations: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MNC_CACHE_DIR", str(tmp_path / "file" / "below"))
    programs_ = [mnc.compile(product()) for _ in range(2)]
    assert len(compilations) == 2 and same(*programs_)
    assert str(programs_[0].report)


def test_training_steps_are_kept(cache: Store, compilations: list[Any]) -> None:
    from mnc.training.step import training_step

    step = training_step(product(), batch=6, loss="mse")
    first, second = (step.compile(mnc.Options("single")) for _ in range(2))
    assert len(compilations) == 1 and same(first, second)


def test_a_hit_needs_neither_mlir_nor_onnx(cache: Store, tmp_path: Path) -> None:
    onnx.save(product(), tmp_path / "m.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    mnc.compile(tmp_path / "m.onnx")
    program = "import sys, mnc; mnc.compile(sys.argv[1]); assert not {'onnx', 'torch_mlir'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program, tmp_path / "m.onnx"], check=True)


def test_a_hit_of_the_command_needs_neither_of_them_too(cache: Store, tmp_path: Path) -> None:
    onnx.save(product(), tmp_path / "m.onnx")
    program = (
        "import atexit, sys\n"
        "from mnc.tools.mnc import main\n"
        "atexit.register(lambda: print(sorted({'onnx', 'torch_mlir'} & set(sys.modules))))\n"
        "main()"
    )
    command = [sys.executable, "-c", program, "compile", tmp_path / "m.onnx", "-o", tmp_path / "build"]
    last = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1] for _ in "ab"]
    assert last == ["['onnx', 'torch_mlir']", "[]"]
