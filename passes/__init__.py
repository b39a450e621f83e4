"""Transformations that stay on one level. One pass, one file; registration is one row here."""

PASSES: dict[str, str] = {
    "classify-fusion": "mnc.passes.graph.classify_fusion:ClassifyFusion",
    "count-work": "mnc.passes.graph.count_work:CountWork",
    "decompose": "mnc.passes.graph.decompose:Decompose",
    "fold-batch-norm": "mnc.passes.graph.fold_batch_norm:FoldBatchNormalization",
    "fold-constants": "mnc.passes.graph.fold_constants:FoldConstants",
    "fuse-groups": "mnc.passes.graph.fuse_groups:FuseGroups",
    "graph-autodiff": "mnc.passes.autodiff.graph_autodiff:GraphAutodiff",
    "hoist-scales": "mnc.passes.graph.hoist_scales:HoistScales",
    "mixed-precision": "mnc.passes.graph.mixed_precision:MixedPrecision",
    "simplify-algebra": "mnc.passes.graph.simplify_algebra:SimplifyAlgebra",
    "simplify-tensors": "mnc.passes.graph.simplify_tensors:SimplifyTensors",
    "fuse-addends": "mnc.passes.affine.fuse_addends:FuseAddends",
    "normalize-loops": "mnc.passes.affine.normalize_loops:NormalizeLoops",
    "promote-to-local": "mnc.passes.affine.promote_to_local:PromoteToLocal",
    "sink-reductions": "mnc.passes.affine.sink_reductions:SinkReductions",
    "sliding-window": "mnc.passes.affine.sliding_window:SlidingWindow",
    "unroll": "mnc.passes.affine.unroll:Unroll",
    "choose-tiles": "mnc.passes.linalg.choose_tiles:ChooseTiles",
    "fuse-elementwise": "mnc.passes.linalg.fuse_elementwise:FuseElementwise",
    "generalize-named": "mnc.passes.linalg.generalize_named:GeneralizeNamed",
    "interchange": "mnc.passes.linalg.interchange:Interchange",
    "pack": "mnc.passes.linalg.pack:Pack",
    "pad": "mnc.passes.linalg.pad:Pad",
    "tile": "mnc.passes.linalg.tile:Tile",
}
"""Pass name -> import path ``package.module:ClassName``."""
