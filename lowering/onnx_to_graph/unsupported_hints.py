"""What works instead of an operator that is not supported."""

import difflib
from collections.abc import Iterable

VIEWER_DOMAIN = "mnc.graph"
"""The domain of the operators in what `mnc compile --dump-onnx` writes."""

RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")

_SEQUENCE = (
    "what a sequence holds must be known when compiling: its length, the positions that are read and written, the "
    "sizes it is split by; make them constants, or use Split, Gather and Concat"
)
_OF_SEQUENCES = (
    "ConcatFromSequence", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
    "SequenceLength", "SequenceMap", "SplitToSequence",
)  # fmt: skip
_OPTIONAL = (
    "whether an optional value is there must be known when compiling, and it must be there to be read; give the tensor "
    "itself"
)
_RANDOM = (
    "the machine draws no random numbers: make them an input of the model, or give the node a seed, whose numbers "
    "become a constant, equal in every run"
)
_DRAWN_BY = (
    "the machine draws no random numbers: compare probabilities with numbers that are an input of the model; with a "
    "seed and probabilities that are constants, what is drawn becomes a constant"
)
STRINGS = "map strings to numbers outside the model"
_OF_ONNX_RUNTIME = (
    "ONNX Runtime has it, the standard has not; docs/supported-ops.md lists those that are compiled: give the model as "
    "it was before ONNX Runtime optimized it, and quantize with QuantFormat.QDQ"
)
WITHOUT_ZIP_MAP = (
    "the machine has tensors only; export a classifier of scikit-learn without ZipMap: "
    "to_onnx(model, x, options={id(model): {'zipmap': False}})"
)
_MAPS = "give it tensors: turn maps into rows of numbers on the host"

HINTS = {
    "If": "make the condition known when exporting the model, or declare results of equal shapes in both branches, "
          "which are then both computed; in PyTorch write torch.where(condition, a, b)",
    "Loop": "loops with a trip count that is known when compiling are unrolled, and a condition may end them earlier "
            "where they give no result of every iteration: fix the trip count when exporting the model, or compile "
            "the body and repeat it on the host",
    "Scan": "give the scanned inputs constant shapes when exporting the model, in operator set 9 and above",
    "Gradient": "give the forward model to mnc train or to the pass graph-autodiff, which differentiate it themselves",
    "ImageDecoder": "decode images on the host, and give their pixels",
    **dict.fromkeys(_OF_SEQUENCES, _SEQUENCE),
    **dict.fromkeys(("Optional", "OptionalGetElement", "OptionalHasElement"), _OPTIONAL),
    **dict.fromkeys(RANDOM, _RANDOM),
    **dict.fromkeys(("Bernoulli", "Multinomial"), _DRAWN_BY),
    "ZipMap": WITHOUT_ZIP_MAP,
    **dict.fromkeys(("CastMap", "DictVectorizer"), _MAPS),
    "LabelEncoder": STRINGS,
    **dict.fromkeys(("CategoryMapper", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"), STRINGS),
}  # fmt: skip


KINDS = {
    "If": "an If whose condition a run finds is not supported where the shapes of its branches differ or are not known",
    "Loop": "a Loop with a trip count or a condition that a run finds is not supported",
    "Scan": "a Scan over inputs of unknown length, or of operator set 8, is not supported",
    **{op_type: f"{op_type} of a sequence whose length or positions a run finds is not supported"
       for op_type in _OF_SEQUENCES},
}  # fmt: skip
"""Operators of which some are supported, and which are not."""


def unsupported_hint(op_type: str, supported: Iterable[str], domain: str = "") -> str:
    """The nearest thing that works."""
    if domain == VIEWER_DOMAIN:
        return "mnc compile --dump-onnx wrote this file for viewers; give the model that it was made from"
    if domain.startswith("com.microsoft"):
        return _OF_ONNX_RUNTIME
    if op_type in HINTS:
        return HINTS[op_type]
    close = difflib.get_close_matches(op_type, supported, 1)
    nearest = f"the nearest supported operator is {close[0]}; " if close else ""
    return f"{nearest}docs/supported-ops.md lists all of them"
