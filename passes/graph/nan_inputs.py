"""Which inputs of a graph may hold NaN: those whose NaN no arithmetic reads."""

from mnc.core.bindings import ir
from mnc.passes.graph.nan_flow import nan_flow


def inputs_that_may_hold_nan(module: ir.Module) -> tuple[str, ...]:
    """Names of the inputs of ``@main`` whose NaN reach questions for them and outputs only."""
    function = module.body.operations[0].operation
    block = function.regions[0].blocks[0]
    flow = nan_flow(block)
    allowed = [number for number, one in enumerate(block.arguments) if flow.of(one) and one not in flow.readers]
    if not allowed:
        return ()
    names = [ir.StringAttr(ir.DictAttr(entry)["onnx.name"]).value for entry in function.attributes["arg_attrs"]]
    return tuple(names[number] for number in allowed)
