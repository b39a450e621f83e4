"""Scan in every direction and along every axis: the reference goes forward along the first dimension only."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


def _nth(values: Sequence[int] | None, count: int) -> list[int]:
    """One number for each; 0 where none is given."""
    return [*(values or []), *[0] * count][:count]


class Scan(OpRun):
    """The body, element by element of the scanned tensors; what it gives is stacked."""

    body: Any
    _run_body: Callable[..., list[Any]]

    def need_context(self) -> bool:
        """The body may read values from outside."""
        return True

    def _run(
        self, *operands: np.ndarray, context: Mapping[str, Any] | None = None, num_scan_inputs: int = 0,
        scan_input_axes: Any = None, scan_input_directions: Any = None, scan_output_axes: Any = None,
        scan_output_directions: Any = None, attributes: Any = None, **_: Any,
    ) -> Any:  # fmt: skip
        names, states = self.body.input_names, list(operands[: len(operands) - num_scan_inputs])
        scanned = [
            np.flip(np.moveaxis(x, axis, 0), 0) if backward else np.moveaxis(x, axis, 0)
            for x, axis, backward in zip(
                operands[len(states) :], _nth(scan_input_axes, num_scan_inputs),
                _nth(scan_input_directions, num_scan_inputs), strict=True,
            )
        ]  # fmt: skip
        given = len(self.body.output_names) - len(states)
        collected: list[list[Any]] = [[] for _ in range(given)]
        for parts in zip(*scanned, strict=True):
            values = {**(context or {}), **dict(zip(names, (*states, *parts), strict=True))}
            found = self._run_body(values, attributes=attributes)
            states = found[: len(states)]
            for own, result in zip(collected, found[len(states) :], strict=True):
                own.append(result)
        if not len(scanned[0]) and given:
            raise NotImplementedError("Scan of no elements, whose results have unknown shapes")
        ways = zip(collected, _nth(scan_output_axes, given), _nth(scan_output_directions, given), strict=True)
        return self._check_and_fix_outputs((*states, *(np.stack(r[::-1] if back else r, a) for r, a, back in ways)))
