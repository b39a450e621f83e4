"""Scheduled modules -> programs: one, one of several layers, or several in a row; and what belongs to them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mnc.core.bindings import ir
from mnc.core.context import error_at
from mnc.core.diagnostics import NODE_SEPARATOR, CompileError
from mnc.core.modules import parts_of
from mnc.dialects.graph.run_time_extents import noted_extents
from mnc.dialects.graph.sequences import noted_sequences
from mnc.dialects.mncore.target import machine_of
from mnc.dialects.mncore.trips import NODES, WEIGHTS
from mnc.executable import Executable, HostTensor, ordered
from mnc.lowering.linalg_to_spmd.layout_attributes import preferences_of
from mnc.lowering.linalg_to_spmd.numbered_weights import NumberedWeights
from mnc.mncore_backend.assembly.records import Memory
from mnc.mncore_backend.codegen.add_companions import INITIALISE, MAIN, READ_BACK
from mnc.mncore_backend.codegen.emit import emit_module, emit_unit, line_nodes
from mnc.mncore_backend.codegen.host_ir import Image, read_attribute, read_images, read_kept, read_trips
from mnc.mncore_backend.codegen.program_ir import read_unit
from mnc.mncore_backend.codegen.report.ideal import Ideal
from mnc.mncore_backend.codegen.trips import Trips, check_dram, gap, shifted
from mnc.mncore_backend.target import chip, use
from mnc.passes.autodiff.signature import Signature, find_main
from mnc.passes.graph.count_work import WORK

COMPANIONS = INITIALISE, READ_BACK


def to_executable(module: Any) -> Executable:
    """Program text and host tensors of a module that went through all stages; with the programs that fill and empty
    what it keeps in local memory. Raises CompileError for modules of earlier stages."""
    with use(machine_of(module) or chip()):
        parts = parts_of(module)
        companions = {name: _program(parts.pop(name)) for name in COMPANIONS if name in parts}
        if not parts and read_kept(module):
            hint = "put add-companions behind verify-schedule, as in docs/pipeline.md"
            raise error_at(module.operation, "keeps values in local memory, and nothing fills it", hint=hint)
        noted: dict[str, Any] = {**companions, "preferences": preferences_of(module), "ideal": _ideal(module)}
        noted |= {"extents": noted_extents(module), "sequences": noted_sequences(module)}
        return replace(_program(module, list(parts.values())), **noted)


def order_of(module: Any) -> tuple[str, ...]:
    """Names of the arguments, then of the results, of a module in the graph dialect, as `in_order` takes them."""
    signature = Signature(find_main(module))
    return (*signature.argument_names(), *signature.result_names())


def in_order(executable: Executable, order: tuple[str, ...]) -> Executable:
    """A program whose inputs and outputs are listed as the model lists them: stages emit them when they need them."""

    places = {
        (role, name): (number, place)
        for number, role in enumerate(("constant", "input", "output"))
        for place, name in enumerate(ordered((t.name for t in executable.tensors if t.role == role), role, order))
    }
    tensors = sorted(executable.tensors, key=lambda tensor: places[tensor.role, tensor.name])
    return replace(executable, tensors=tuple(tensors), order=order)


def program_text(module: Any, name: str = MAIN) -> str:
    """The text of a scheduled module: of the program itself, with all parts that it is made of, or of a companion.

    Raises:
        CompileError: there is no such companion, or the module is of an earlier stage.
    """
    with use(machine_of(module) or chip()):
        parts = parts_of(module)
        companions = {own: parts.pop(own) for own in COMPANIONS if own in parts}
        if name in companions:
            return emit_module(companions[name])
        if name != MAIN:
            message = f"the module has no program '{name}'"
            raise CompileError(message, hint="only what stays in local memory between runs needs one")
        return _program(module, list(parts.values())).text if parts else emit_module(module)


def _program(module: Any, parts: Sequence[Any] = ()) -> Executable:
    """The program of a module, or of the parts inside of it, which run one after the other."""
    found = [program_of(part) for part in parts or [module]]
    return found[0].program if len(found) == 1 else in_a_row(found)


def _ideal(module: Any) -> Ideal | None:
    """The work of the model that `count-work` noted."""
    if WORK not in module.operation.attributes:
        return None
    noted = ir.DictAttr(module.operation.attributes[WORK])
    return Ideal(**{name: noted[name].value for name in ("multiply_adds", "compute_cycles", "dram_long_words")})


@dataclass(frozen=True)
class Part:
    """A program, and the long words of DRAM from 0 on that it takes in every group."""

    program: Executable
    dram: int


def program_of(module: Any) -> Part:
    """Text and host tensors of a scheduled module."""
    unit = read_unit(module)
    images = read_images(module, unit.buffers)
    given = read_attribute(module, WEIGHTS)
    own = _weights(images, NumberedWeights(given)) if given is not None else {}
    trips = read_trips(module, unit.buffers, images, list(own))
    tensors = [tensor for image in images for tensor in _tensors(image, trips, own.get(image))]
    text, nodes = emit_unit(unit, trips), line_nodes(unit, trips)
    renamed = read_attribute(module, NODES)
    if renamed is not None:
        nodes = _renamed(nodes, len(unit.statements), renamed)
    used = [b for b in unit.program.buffers if b.memory is Memory.DRAM and b.base is not None]
    end = trips.end if trips is not None else max((b.base + b.size for b in used if b.base is not None), default=0)
    return Part(Executable(text, tuple(tensors), tuple(nodes), machine=chip().name), end)


def _weights(images: Sequence[Image], weights: NumberedWeights) -> dict[Image, list[tuple[str, Any]]]:
    """Constants that are weights of layers: name and value in each layer."""
    found = {}
    for image in images:
        own = weights.of(image.name, image.value) if image.value is not None else None
        if own is not None:
            found[image] = own
    weights.check()
    return found


def _tensors(image: Image, trips: Trips | None, values: list[tuple[str, Any]] | None) -> list[HostTensor]:
    if trips is None:
        return [HostTensor(image.name, image.role, image.dtype, image.image, image.words(image.value))]
    if values is None:
        own = trips.image(image.image, image.part)
        return [HostTensor(image.name, image.role, image.dtype, own, image.words(image.value))]
    return [
        HostTensor(name, image.role, image.dtype, trips.image_of(image.image, trip), image.words(value))
        for trip, (name, value) in enumerate(values)
    ]


def _renamed(nodes: list[str], length: int, layers: Any) -> list[str]:
    """Nodes of lines, of which those of the first layer stand for those of all: each line gets those of its layer."""
    names = [[ir.StringAttr(name).value.split(NODE_SEPARATOR) for name in ir.ArrayAttr(own)] for own in layers]
    result: list[str] = []
    for number, own in enumerate(names):
        pairs = [pair for old, new in zip(names[0], own, strict=True) for pair in zip(old, new, strict=False)]
        known = dict(reversed(pairs))
        made = {text: NODE_SEPARATOR.join(known.get(name, name) for name in text.split(NODE_SEPARATOR))
                for text in set(nodes[:length])}  # fmt: skip
        result += ([""] if number else []) + [made[text] for text in nodes[:length]]
    return result


def in_a_row(parts: Sequence[Part]) -> Executable:
    """Programs that run one after the other, each with DRAM of its own. Raises CompileError if that is too much."""
    texts, nodes, tensors, base = [], [], [], 0
    for part in (part for part in parts if part.program.text):
        if texts:
            texts.append(f"nop/{gap()}\n")
            nodes.append("")
        texts.append(shifted(part.program.text, base))
        nodes += part.program.line_nodes
        tensors += [_moved(tensor, base) for tensor in part.program.tensors]
        base += part.dram
        check_dram(base)
    return Executable("".join(texts), tuple(tensors), tuple(nodes), machine=chip().name)


def _moved(tensor: HostTensor, base: int) -> HostTensor:
    buffer = tensor.image.buffer
    return replace(tensor, image=replace(tensor.image, buffer=replace(buffer, base=tensor.address + base)))
