"""Shadow versions: copies of answered requests run on them, and their results are compared.

Requests do not wait for a shadow. Its runs have a thread of low priority and a short queue; copies
that find the queue full are dropped and counted.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.framework.errors import NotFoundError
from pinnace.serving.errors import LOG, one_line
from pinnace.serving.models.tables import Which
from pinnace.serving.models.warmup import low_priority
from pinnace.serving.observing.background import Background
from pinnace.serving.running.batching import agree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.serving.config.traffic import Shadow
    from pinnace.serving.models.repository import Repository
    from pinnace.serving.observing.shadow_metrics import ShadowMetrics
    from pinnace.serving.requests.exchanging import Exchanging
    from pinnace.serving.requests.reply import Reply
    from pinnace.serving.running.signatures import Array, Arrays

_Copy: TypeAlias = "tuple[Shadow, str, Arrays, Arrays]"

_MOST_WAITING = 64
_MOST_WAITING_BYTES = 2**26
_COMPLAIN_S = 60.0


class Shadows:
    """Runs copies of requests on shadow versions.

    Args:
        shadows: the shadows, and their fractions of the requests.
        repository: the repository with the versions.
        metrics: the meters of the results.
    """

    def __init__(
        self, shadows: Sequence[Shadow], repository: Repository, metrics: ShadowMetrics
    ) -> None:
        self._of: dict[str, list[Shadow]] = {}
        for shadow in shadows:
            self._of.setdefault(shadow.model, []).append(shadow)
        self._repository = repository
        self._meters = {shadow: metrics.meter(shadow.model, shadow.version) for shadow in shadows}
        self._complained = -_COMPLAIN_S
        self._background: Background[_Copy] = Background(
            "shadow", self._consume, most=_MOST_WAITING, most_bytes=_MOST_WAITING_BYTES
        )

    def observe(self, exchanging: Exchanging, _: Reply | None, error: BaseException | None) -> None:
        """Copy an answered request. Called on the event loop."""
        shadows = self._of.get(exchanging.request.which.name)
        decoded, outputs = exchanging.decoded, exchanging.outputs
        if shadows is None or error is not None or decoded is None or outputs is None:
            return
        if decoded.sequence is not None:  # its answer depends on earlier requests
            return
        size = sum(a.nbytes for arrays in (decoded.feeds, outputs) for a in arrays.values())
        for shadow in shadows:
            if random.random() < shadow.fraction:
                copy = (shadow, decoded.signature_name, decoded.feeds, outputs)
                if not self._background.put(copy, size):
                    self._meters[shadow].count("dropped")

    def close(self) -> None:
        """Run the pending copies."""
        self._background.close()

    def _consume(self, copies: list[_Copy]) -> None:
        with low_priority():
            for shadow, signature_name, feeds, outputs in copies:
                self._run(shadow, signature_name, feeds, outputs)

    def _run(self, shadow: Shadow, signature_name: str, feeds: Arrays, expected: Arrays) -> None:
        meter = self._meters[shadow]
        try:
            servable = self._repository.get(Which(shadow.model, shadow.version))
        except NotFoundError:
            meter.count("unavailable")
            return
        begin = time.perf_counter()
        try:
            servable.signature(signature_name)
            outputs = servable.run_now(signature_name, feeds)
        except Exception as error:  # its errors do not affect clients
            meter.count("failed")
            self._complain(shadow, f"failed where the answering version did not: {one_line(error)}")
            return
        meter.latency.observe((time.perf_counter() - begin) * 1e6)
        problem = mismatch(outputs, expected)
        if problem:
            meter.count("mismatched")
            self._complain(shadow, problem)
            return
        meter.count("same" if agree(outputs, expected) else "different")
        absolute, relative = difference(outputs, expected)
        if np.isfinite(absolute):
            meter.differ(absolute, relative)

    def _complain(self, shadow: Shadow, text: str) -> None:
        if time.monotonic() - self._complained >= _COMPLAIN_S:
            self._complained = time.monotonic()
            LOG.warning("shadow %d of model '%s': %s", shadow.version, shadow.model, text)


def mismatch(outputs: Arrays, expected: Arrays) -> str:
    """Why outputs cannot be compared: other names, dtypes or shapes; empty if they can."""
    if outputs.keys() != expected.keys():
        return f"outputs {sorted(outputs)} instead of {sorted(expected)}"
    for name, other in expected.items():
        one = outputs[name]
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return (
                f"output '{name}' is {one.dtype}{list(one.shape)} "
                f"instead of {other.dtype}{list(other.shape)}"
            )
    return ""


def difference(outputs: Arrays, expected: Arrays) -> tuple[float, float]:
    """Return the largest differences of numbers, over all outputs.

    Args:
        outputs: arrays with the names, dtypes and shapes of `expected`.
        expected: the arrays to compare with.

    Returns:
        The largest absolute difference, infinite if only one number is finite; and the largest
        difference relative to the largest finite value of the expected output. Strings do not
        count.
    """
    absolute = relative = 0.0
    for name, other in expected.items():
        if other.dtype.kind == "O" or not other.size:
            continue
        most, scale = _distance(outputs[name], other)
        absolute = max(absolute, most)
        relative = max(relative, most / scale if scale else (1.0 if most else 0.0))
    return absolute, relative


def _distance(one: Array, other: Array) -> tuple[float, float]:
    """(largest difference, largest finite value of `other`)."""
    wide = np.complex128 if other.dtype.kind == "c" else np.float64
    a, b = one.astype(wide), other.astype(wide)
    both = np.isfinite(a) & np.isfinite(b)
    scale = float(np.abs(b[np.isfinite(b)]).max(initial=0.0))
    alike = both | (a == b) | (np.isnan(a) & np.isnan(b))
    if not alike.all():
        return float("inf"), scale
    return float(np.abs(a[both] - b[both]).max(initial=0.0)), scale
