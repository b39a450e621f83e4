"""Loop as ONNX defines it: one without a condition goes on, and what iterations give is stacked.

The reference takes a condition that is not there for a false one. What the body gives it joins along the first
dimension, which is right for scalars and vectors only.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx.reference.ops import op_loop


class Loop(op_loop.Loop):
    """The body by trip count, condition, or both."""

    body: Any
    _run_body: Callable[..., list[Any]]

    def _run(
        self, trips: Any, condition: Any, *carried: Any, context: Mapping[str, Any] | None = None,
        attributes: Any = None, **_: Any,
    ) -> Any:  # fmt: skip
        number_name, condition_name, *names = self.body.input_names
        values = {**(context or {}), **dict(zip(names, carried, strict=True))}
        collected: list[list[Any]] = [[] for _ in range(self.K)]
        goes_on, number = condition is None or bool(condition), 0
        while goes_on and (trips is None or number < trips):
            values |= {number_name: np.array(number, np.int64), condition_name: np.array(goes_on)}
            last, *found = self._run_body(values, attributes=attributes)
            values.update(zip(names, found, strict=False))
            for own, result in zip(collected, found[self.N :], strict=True):
                own.append(result)
            goes_on, number = bool(last), number + 1
        if not number and self.K:  # an iteration that does not count tells shapes and types
            values |= {number_name: np.array(0, np.int64), condition_name: np.array(True)}
            example = self._run_body(values, attributes=attributes)[1 + self.N :]
            return self._check_and_fix_outputs((*carried, *(np.stack([own])[:0] for own in example)))
        stacked = [np.stack(own) for own in collected]
        return self._check_and_fix_outputs((*(values[name] for name in names), *stacked))
