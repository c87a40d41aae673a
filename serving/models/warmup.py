"""Requests that a version answers before it is served.

A SavedModel may have them in `assets.extra/tf_serving_warmup_requests`, a TFRecord file of
PredictionLogs; a version that cannot answer them is not served. Without that file, each signature
with known input sizes runs on zeros, which compiles and maps what the first run needs.
Source: docs/reference/serving_api.md 3, warm-up.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import (
    DataLossError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpError,
    UnimplementedError,
)
from pinnace.serving.errors import LOG, one_line
from pinnace.serving.running.feeds import check_feeds
from pinnace.serving.running.limits import NO_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.running.limits import RunLimits
    from pinnace.serving.running.signatures import Array, Arrays, Runnable

FILE = "assets.extra/tf_serving_warmup_requests"

_MAX_RECORDS = 1000
_MOST_SHOWN = 4096  # elements of a request that is kept as an example
_MAX_ELEMENTS = 2**22  # of zeros for one input
_NICENESS = 10
_ZEROS_S = 10.0  # for all signatures together
_BROKEN = (UnimplementedError, InternalError, DataLossError, FailedPreconditionError)


def warm_up(
    servable: Servable,
    path: Path,
    iterations: int,
    limits: RunLimits = NO_LIMITS,
    *,
    is_urgent: bool = False,
) -> None:
    """Run a version's warm-up requests.

    Args:
        servable: the version, before it is served.
        path: the version's folder.
        iterations: the number of runs of each request; 0 for none.
        limits: the limits of each run.
        is_urgent: whether no other model is served yet.

    Raises:
        InvalidArgumentError: the file of requests is damaged or too long, or the version cannot
            answer a request; the message names the record.
        OpError: a signature cannot run on any input.
    """
    if iterations <= 0:
        return
    file = path / FILE
    with contextlib.nullcontext() if is_urgent else low_priority():
        if file.is_file():
            for _ in range(iterations):
                _answer_file(servable, file)
        else:
            _answer_zeros(servable, limits)


def example_feeds(servable: Servable, path: Path, most: int) -> dict[str, list[Arrays]]:
    """Return the feeds of a version's first warm-up requests, by signature.

    Args:
        servable: the version, before it is served.
        path: the version's folder.
        most: the number of requests to read.

    Raises:
        InvalidArgumentError: a request cannot be parsed; the message names the record.

    Returns:
        Only feeds with the declared shapes.
    """
    file = path / FILE
    found: dict[str, list[Arrays]] = {}
    if not file.is_file():
        return found
    # Late: a server without such files does not need protobuf for them.
    from pinnace.serving.messages.prediction_log import read_logs, wires_of

    for i, log in enumerate(islice(read_logs(file), most)):
        try:
            for wire in wires_of(log):
                decoded = wire.decode(servable, b"", {})
                if check_feeds(servable.signature(decoded.signature_name), decoded.feeds):
                    found.setdefault(decoded.signature_name, []).append(decoded.feeds)
        except OpError as error:
            raise _failed(file, i, error) from None
    return found


def _answer_file(servable: Servable, file: Path) -> None:
    from pinnace.serving.messages.prediction_log import read_logs, wires_of

    logs = list(islice(read_logs(file), _MAX_RECORDS + 1))
    if len(logs) > _MAX_RECORDS:
        raise InvalidArgumentError(f"{file}: more than {_MAX_RECORDS} warm-up requests")
    for i, log in enumerate(logs):
        try:
            for wire in wires_of(log):
                decoded = wire.decode(servable, b"", {})
                servable.signature(decoded.signature_name)  # its error lists the signatures
                decoded.encode(servable.run_now(decoded.signature_name, decoded.feeds))
                if sum(array.size for array in decoded.feeds.values()) <= _MOST_SHOWN:
                    servable.examples.setdefault(decoded.signature_name, decoded.feeds)
        except OpError as error:
            raise _failed(file, i, error) from None


def _failed(file: Path, number: int, error: OpError) -> InvalidArgumentError:
    return InvalidArgumentError(f"{file}: warm-up request {number} failed: {one_line(error)}")


def _answer_zeros(servable: Servable, limits: RunLimits) -> None:
    """Run the signatures on zeros.

    Zeros need not be a sensible request, for example as keys of a table, and a loop may not end
    with them: only errors that any request would raise count as failures.
    """
    until = time.perf_counter() + _ZEROS_S
    for name, signature in servable.signatures.items():
        known = zeros(signature) if signature.is_pure else None
        left = until - time.perf_counter()
        if known is None or left <= 0:
            continue
        guard = limits.no_longer_than(left).guard
        try:
            for _ in range(2):  # the first run compiles, the second is measured
                servable.run_now(name, known, guard)
        except OpError as error:
            if isinstance(error, _BROKEN):
                raise type(error)(f"signature '{name}' cannot run: {error}") from error
            LOG.info("model '%s': '%s' on zeros: %s", servable.name, name, one_line(error))
        except Exception as error:  # the model may not accept zeros
            LOG.info("model '%s': '%s' on zeros: %s", servable.name, name, one_line(error))


def zeros(signature: Runnable) -> dict[str, Array] | None:
    """One row of zeros for each input of a signature; None if a size is unknown."""
    feeds = {key: _zeros(spec) for key, spec in signature.inputs.items()}
    known = {key: array for key, array in feeds.items() if array is not None}
    return known if len(known) == len(feeds) else None


def _zeros(spec: TensorSpec) -> Array | None:
    dims = spec.shape.dims
    if dims is None or any(size is None for size in dims[1:]):
        return None
    shape = [1 if size is None else size for size in dims]
    if np.prod(shape, dtype=np.float64) > _MAX_ELEMENTS:
        return None
    if spec.dtype is dtypes.string:
        return np.full(shape, b"", dtype=object)
    try:
        return np.zeros(shape, spec.dtype.numpy)
    except TypeError:
        return None


@contextlib.contextmanager
def low_priority() -> Iterator[None]:
    """Lower the thread's priority below the process's other threads, if threads have priorities."""
    if sys.platform != "linux" or threading.current_thread() is threading.main_thread():
        yield
        return
    thread = threading.get_native_id()
    before = os.getpriority(os.PRIO_PROCESS, thread)
    lowered = False
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, thread, min(before + _NICENESS, 19))
        lowered = True
    try:
        yield
    finally:
        if lowered:
            # Only root may raise it again; the loading thread serves no requests, so it may stay
            # low.
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, thread, before)
