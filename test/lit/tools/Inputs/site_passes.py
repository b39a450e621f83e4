"""A pass that is no part of the tree."""

from dataclasses import dataclass
from typing import Any

import mnc


@mnc.register_pass
@dataclass(frozen=True)
class NameSite(mnc.Pass):
    """Write on the module where it was compiled."""

    name = "name-site"
    site: str = "here"

    def run(self, module: Any) -> None:
        """Set the attribute `test.site`."""
        from mnc.core.bindings import ir

        module.operation.attributes["test.site"] = ir.StringAttr.get(self.site, module.context)
