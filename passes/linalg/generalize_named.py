"""The pass `generalize-named`: named linalg operations as `linalg.generic`."""

from dataclasses import dataclass
from typing import ClassVar

from mnc.core.bindings import ir, submodule
from mnc.core.pass_base import Pass
from mnc.passes.linalg.iteration import find
from mnc.passes.linalg.schedule import remove_tags, schedule, tag, tagged

# These say more by their name than by loops.
_KEPT = ("linalg.generic", "linalg.fill", "linalg.pack", "linalg.unpack", "linalg.yield", "linalg.index")


@dataclass(frozen=True)
class GeneralizeNamed(Pass):
    """Turn `linalg.matmul`, `linalg.transpose` and other named operations into `linalg.generic`.

    before: ``linalg.matmul ins(%a, %b) outs(%c)``; after: a `linalg.generic` with mulf and addf

    Options:
        only: names without ``linalg.``; empty for all. `linalg.fill` stays, because fusion and
            distribution read the initial value of a reduction from it.
    """

    name: ClassVar[str] = "generalize-named"
    only: tuple[str, ...] = ()

    def run(self, module: ir.Module) -> None:
        """Generalize every named operation that `only` allows."""
        structured, transform = submodule("dialects.transform.structured"), submodule("dialects.transform")
        with module.context, ir.Location.unknown():
            found = find(module, self._matches)
            for number, op in enumerate(found):
                tag(op, number)
            if found:
                with schedule(module) as root:
                    for number in range(len(found)):
                        structured.structured_generalize(transform.AnyOpType.get(), tagged(root, number))
                remove_tags(module)

    def _matches(self, op: ir.Operation) -> bool:
        is_named = op.name.startswith("linalg.") and op.name not in _KEPT
        return is_named and (not self.only or op.name.removeprefix("linalg.") in self.only)
