"""Bucket boundaries of boosted trees: the resource of BoostedTreesQuantileStream….

Collecting them from data is part of training and not supported; models exported by estimators
contain the boundaries, one vector per feature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, OpDef, attr
from pinnace.ops.registry import register, scalar
from pinnace.ops.state.variables import resource_of
from pinnace.ops.trees.handles import handle_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.tensor import Array

__all__: list[str] = []

_HANDLE = "quantile_stream_resource_handle: resource"
# Far more features than any model has.
_MOST_STREAMS = 2**20


class Boundaries:
    """The resource behind a handle: sorted boundaries by feature, once they are given.

    Args:
        name: name in error messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._found: list[Array] | None = None

    @property
    def is_initialized(self) -> bool:
        """Whether there is a vector, possibly empty, per feature."""
        return self._found is not None

    def create(self, count: int) -> None:
        """Create empty vectors, unless there are vectors already."""
        if self._found is None:
            self._found = [np.zeros(0, np.float32)] * count

    def take(self, boundaries: Sequence[Array]) -> None:
        """Set the vectors to these."""
        self._found = [np.array(one, np.float32) for one in boundaries]

    def of(self, op: str, count: int) -> tuple[Array, ...]:
        """The vectors.

        Raises:
            FailedPreconditionError: no vectors were given.
            InvalidArgumentError: their number differs.
        """
        if self._found is None:
            raise FailedPreconditionError(
                f"{op}: the boundaries {self.name!r} were not created yet"
            )
        if len(self._found) != count:
            raise InvalidArgumentError(
                f"{op}: num_features must be {len(self._found)}, got {count}"
            )
        return tuple(self._found)

    def __repr__(self) -> str:
        return f"<Boundaries {self.name!r}>"


HANDLE = register(
    OpDef(
        name="BoostedTreesQuantileStreamResourceHandleOp",
        signature="-> resource: resource",
        attrs={
            "container": attr("string", default=""),
            "shared_name": attr("string", default=""),
        },
        infer=scalar,
        kernel=handle_kernel("quantiles", "quantile_stream", Boundaries),
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)


def _of(op: str, handle: Array) -> Boundaries:
    found = resource_of(handle)
    if not isinstance(found, Boundaries):
        raise InvalidArgumentError(
            f"{op}: quantile_stream_resource_handle must be the handle of boundaries, got that of "
            f"{found!r}"
        )
    return found


def _nothing(_: InferCall) -> tuple[Shape, ...]:
    return ()


def _create_kernel(
    quantile_stream_resource_handle: Array, epsilon: Array, num_streams: Array
) -> None:
    op = "BoostedTreesCreateQuantileStreamResource"
    if not 0 < float(epsilon) < 1:
        raise InvalidArgumentError(f"{op}: epsilon must be between 0 and 1, got {float(epsilon)}")
    if not 0 <= int(num_streams) <= _MOST_STREAMS:
        raise InvalidArgumentError(
            f"{op}: num_streams must be in [0, {_MOST_STREAMS}], got {int(num_streams)}"
        )
    _of(op, quantile_stream_resource_handle).create(int(num_streams))


CREATE = register(
    OpDef(
        name="BoostedTreesCreateQuantileStreamResource",
        signature=f"{_HANDLE}, epsilon: float32, num_streams: int64 ->",
        attrs={"max_elements": attr("int", default=1 << 40)},
        infer=_nothing,
        kernel=_create_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )
)


def _deserialize_kernel(
    quantile_stream_resource_handle: Array, bucket_boundaries: tuple[Array, ...]
) -> None:
    op = "BoostedTreesQuantileStreamResourceDeserialize"
    if any(one.ndim != 1 for one in bucket_boundaries):
        shapes = [list(one.shape) for one in bucket_boundaries]
        raise InvalidArgumentError(f"{op}: bucket_boundaries must be vectors, got {shapes}")
    _of(op, quantile_stream_resource_handle).take(bucket_boundaries)


DESERIALIZE = register(
    OpDef(
        name="BoostedTreesQuantileStreamResourceDeserialize",
        signature=f"{_HANDLE}, bucket_boundaries: num_streams*float32 ->",
        infer=_nothing,
        kernel=_deserialize_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="write",
    )
)


def _boundaries_kernel(
    quantile_stream_resource_handle: Array, *, num_features: int
) -> tuple[Array, ...]:
    op = "BoostedTreesQuantileStreamResourceGetBucketBoundaries"
    return _of(op, quantile_stream_resource_handle).of(op, num_features)


def _infer_boundaries(call: InferCall) -> tuple[Shape, ...]:
    count: int = call.attrs["num_features"]
    if not 0 <= count <= _MOST_STREAMS:
        call.fail(f"num_features must be in [0, {_MOST_STREAMS}], got {count}")
    return (Shape([None]),) * count


GET_BOUNDARIES = register(
    OpDef(
        name="BoostedTreesQuantileStreamResourceGetBucketBoundaries",
        signature=f"{_HANDLE} -> bucket_boundaries: num_features*float32",
        infer=_infer_boundaries,
        kernel=_boundaries_kernel,
        gradient=NO_GRADIENT_DEFINED,
        effect="read",
    )
)


def _initialized_kernel(quantile_stream_resource_handle: Array) -> Array:
    op = "IsBoostedTreesQuantileStreamResourceInitialized"
    return np.array(_of(op, quantile_stream_resource_handle).is_initialized)


IS_INITIALIZED = register(
    OpDef(
        name="IsBoostedTreesQuantileStreamResourceInitialized",
        signature=f"{_HANDLE} -> is_initialized: bool",
        infer=scalar,
        kernel=_initialized_kernel,
        gradient=NOT_DIFFERENTIABLE,
        effect="read",
    )
)
