"""Transformations that stay on one level. One pass, one file; registration is one row here."""

PASSES: dict[str, str] = {
    "choose-tiles": "mnc.passes.linalg.choose_tiles:ChooseTiles",
    "fuse-elementwise": "mnc.passes.linalg.fuse_elementwise:FuseElementwise",
    "generalize-named": "mnc.passes.linalg.generalize_named:GeneralizeNamed",
    "interchange": "mnc.passes.linalg.interchange:Interchange",
    "pack": "mnc.passes.linalg.pack:Pack",
    "pad": "mnc.passes.linalg.pad:Pad",
    "tile": "mnc.passes.linalg.tile:Tile",
}
"""Pass name -> import path ``package.module:ClassName``."""
