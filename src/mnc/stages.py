"""The table of contents of the compiler: which passes run, stage by stage, in one place.

Each stage is a tuple of pipeline elements; ``{precision}`` and the like are filled in from the options.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Self

from mnc.core import pipeline as core_pipeline
from mnc.core.diagnostics import CompileError
from mnc.core.pipeline_text import ROOT
from mnc.mncore_backend.layers.compile_layers import CompileLayers
from mnc.mncore_backend.shortest.shortest import Shortest
from mnc.options import Options
from mnc.registry import pass_table

GRAPH: tuple[str, ...] = (
    "settle-nan",  # first: it and the run have to agree on which inputs hold NaN, and that is known after the import
    "fold-constants",  # what the model computes from weights are constants to all that follow
    "cse",  # before the count: a weight that every step of a loop reads is one
    "count-work{{precision={precision} resident={resident}}}",  # of the model: without what no run computes, unpadded
    "fold-batch-norm",  # before decompose, which would dissolve it; after folding, which makes its parameters constant
    "decompose",  # before the simplifications: they know primitive operations only
    "merge-groups",  # after both: of convolutions that transposed ones become, with folded weights
    "simplify-tensors",  # before algebra: operands lie next to each other once moves between them are gone
    "cse",  # before algebra, which finds common factors by identity
    "split-products",  # after what moves slices to the products; before algebra: factors of a part go into its weights
    "simplify-algebra",
    "hoist-scales",  # after algebra, which moves factors into constant weights
    "join-slices",  # after what moves slices to the inputs, which would part them again
    "share-concatenations",  # after what takes concatenations apart
    "canonicalize",  # dead code that the rewrites left
    "cse",  # equal operations that only now have equal operands
    "hoist-views",  # last: it only orders what there is
)
"""On tensors, hardware-free: simplify, fold, decompose composite operators."""

LINALG = (
    "narrow-unsigned",  # of the machine, not of the model: C++ has integers of 64 bits
    "space-to-depth",  # of the machine, too: whoever computes element by element gains nothing
    "graph-to-linalg",
    "fuse-elementwise",
    "canonicalize",
    "cse",
)
"""Every operator becomes an iteration space; chains of element-wise operators become one."""

SPMD = (
    "drop-empty",
    "split-elementwise",
    "expand-indices",
    "loop-over-parts{{resident={resident}}}",  # before all that knows about memory: a part may need no other care
    "overlap-parts{{resident={resident}}}",  # before what cuts because there is no room: parts take less
    "tile-regions{{percent={region}}}",  # before products get tiles of their own
    "overlap-stores{{resident={resident}}}",  # of what fits: the passes before have cut what does not
    "tile-contractions{{precision={precision} resident={resident}}}",  # of what is in DRAM as a whole
    "split-contractions",  # before layouts, which are of whole tensors
    'assign-layouts{{precision={precision} resident={resident} effort={effort} prefer="{prefer}"}}',
    "distribute{{resident={resident}}}",
    "pack-weights",  # before what keeps weights on the chip
    "keep-resident{{what={resident}}}",  # it replaces transfers, which only now exist
    "hand-over",  # the same for what other programs keep
)
"""Whole tensors become the share of one PE: loops over local memory, matrix kernels, transfers."""

AFFINE = (
    "canonicalize",
    "cse",
    "plan-movements",  # before the first that wants plans
    "sink-reductions",
    "fuse-addends",
    "spill-buffers{{percent={room}}}",  # last: the order of operations and their buffers are settled
)
"""Loops over the local share: clean-up, sums over L2Bs left to the stores, additions left to the matrix unit,
values in DRAM where local memory is full."""

MACHINE = (
    "select-instructions",
    "unroll-trips",
    "order-operations",
    "coalesce-copies",  # between operations that are near each other by then
    "load-again",  # what waits is known once the order is
    "name-transfers",
    "split-transfers",  # last before addresses: until then an MV and what it brings are one thing
    "allocate-buffers",
    "schedule",
    "verify-schedule",
)
"""Instructions, their order, addresses, steps; then the text is checked by code that shares nothing with the
scheduler."""

COMPANIONS = ("add-companions",)
"""What goes with the program: those that fill and read what it keeps in local memory."""

QUICK: dict[str, Any] = {"few_statements": 0, "most_statements": 0, "most_by_axes": 0}
"""Options of `shortest` with which programs are compiled as often as long ones."""
FIRST_REPEATED, LAST_REPEATED = "spmd", "machine"
"""The stages between are one: they run on every part of a model of equal layers, and in several ways."""
STAGES = {
    "graph": GRAPH, "linalg": LINALG, "spmd": SPMD, "affine": AFFINE, "machine": MACHINE, "companions": COMPANIONS
}  # fmt: skip


class Pipeline(core_pipeline.Pipeline):
    """The pipeline of `mnc.core.pipeline`, with our passes and the default stages at hand."""

    @classmethod
    def default(cls, options: Options | Mapping[str, Any] | None = None) -> Self:
        """All stages: from the imported graph to scheduled statements."""
        return cls(default_pipeline(options).entries)

    @classmethod
    def parse(cls, text: str, table: Mapping[str, str] | None = None) -> Self:
        """Read pipeline text that may mix our passes with upstream ones; raises CompileError."""
        if not isinstance(table, Mapping | None):
            hint = "leave it out, or give a mapping of names to places such as {'my-pass': 'module:MyPass'}"
            raise CompileError(f"the table of passes is a value of type {type(table).__name__}", hint=hint)
        return super().parse(text, pass_table() if table is None else table)

    def _entries(self, new: Iterable[Any]) -> tuple[core_pipeline.Entry, ...]:
        """Passes may be given as text, such as ``tile{sizes=8,8}``; raises CompileError where they are no sequence."""
        if isinstance(new, str) or not isinstance(new, Iterable):  # text is a sequence, too: of letters
            hint = "write mnc.Pipeline([FoldConstants(), 'cse']), or mnc.parse_pipeline('builtin.module(cse)')"
            raise CompileError(f"a value of type {type(new).__name__} is no list of passes", hint=hint)
        parsed = [self.parse(f"{ROOT}({one})").entries if isinstance(one, str) else (one,) for one in new]
        return super()._entries(entry for entries in parsed for entry in entries)


def stage_text(name: str, options: Options) -> str:
    """The passes of one stage of `STAGES` as pipeline text, with commas between them. Raises CompileError for another
    name."""
    if name not in STAGES:
        raise CompileError(f"there is no stage {name!r}", hint=f"it is one of: {', '.join(STAGES)}")
    return ",".join(STAGES[name]).format(**{**asdict(options), "prefer": ",".join(options.prefer or ())})


def stage_pipeline(name: str, options: Options) -> Pipeline:
    """The passes of one stage of `STAGES`. Raises CompileError for another name."""
    return _parsed(stage_text(name, options))


@lru_cache
def _parsed(elements: str) -> Pipeline:
    return Pipeline.parse(f"builtin.module({elements})") if elements else Pipeline()


def repeated() -> list[str]:
    """Names of the stages from `FIRST_REPEATED` to `LAST_REPEATED`."""
    names = list(STAGES)
    return names[names.index(FIRST_REPEATED) : names.index(LAST_REPEATED) + 1]


def stages_of(options: Options | None = None) -> dict[str, Pipeline]:
    """The pipelines that run one after the other, by name. The repeated stages are inside of `compile-layers`, and
    there inside of `shortest` if it is open what layouts prefer."""
    chosen = options or Options()
    inside = tuple(entry for name in repeated() for entry in stage_pipeline(name, chosen).entries)
    if chosen.prefer is None:
        inside = (Shortest(passes=inside, **(QUICK if chosen.effort == "quick" else {})),)
    made: dict[str, Pipeline] = {}
    for name in STAGES:
        if name == FIRST_REPEATED:
            layers = CompileLayers(resident=chosen.resident, passes=inside)
            made[f"{FIRST_REPEATED} to {LAST_REPEATED}"] = Pipeline((layers,))
        elif name not in repeated():
            made[name] = stage_pipeline(name, chosen)
    return made


def default_pipeline(options: Options | Mapping[str, Any] | None = None) -> Pipeline:
    """All stages: from the imported graph to scheduled statements. Takes options as `mnc.compile` does."""
    return Pipeline(tuple(entry for own in stages_of(Options.of(options)).values() for entry in own.entries))
