"""Transformations that cross a level; the name of a folder or file says from and to."""

PASSES: dict[str, str] = {
    "graph-to-linalg": "mnc.lowering.graph_to_linalg.convert:GraphToLinalg",
    "order-loops": "mnc.lowering.cpp.order_loops:OrderLoops",
    "linalg-to-affine": "mnc.lowering.linalg_to_affine:LinalgToAffine",
    "assign-layouts": "mnc.lowering.linalg_to_spmd.assign_layouts:AssignLayouts",
    "split-contractions": "mnc.lowering.linalg_to_spmd.split_contractions:SplitContractions",
    "drop-empty": "mnc.lowering.linalg_to_spmd.drop_empty:DropEmpty",
    "split-elementwise": "mnc.lowering.linalg_to_spmd.split_elementwise:SplitElementwise",
    "expand-indices": "mnc.lowering.linalg_to_spmd.expand_indices:ExpandIndices",
    "distribute": "mnc.lowering.linalg_to_spmd.distribute:Distribute",
    "keep-resident": "mnc.lowering.linalg_to_spmd.keep_resident:KeepResident",
    "tile-contractions": "mnc.lowering.linalg_to_spmd.tile_contractions:TileContractions",
    "tensor-to-memref": "mnc.lowering.tensor_to_memref:TensorToMemref",
    "outline-layers": "mnc.lowering.linalg_to_spmd.outline_layers:OutlineLayers",
    "hand-over": "mnc.lowering.linalg_to_spmd.hand_over:HandOver",
    "loop-over-parts": "mnc.lowering.linalg_to_spmd.loop_over_parts:LoopOverParts",
    "overlap-parts": "mnc.lowering.linalg_to_spmd.overlap_parts:OverlapParts",
    "overlap-stores": "mnc.lowering.linalg_to_spmd.overlap_stores:OverlapStores",
    "tile-regions": "mnc.lowering.linalg_to_spmd.tile_regions:TileRegions",
}
"""Pass name -> import path ``package.module:ClassName``."""
