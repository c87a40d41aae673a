"""ResourceCountUpTo, which counts up to a limit; and DeviceIndex."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.dtypes import INDEX
from pinnace.framework.errors import OutOfRangeError
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, attr
from pinnace.ops.registry import define, scalar
from pinnace.ops.state.variables import resource_of

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

__all__: list[str] = []


def _count_kernel(resource: Array, *, limit: int, T: DType) -> Array:  # noqa: N803 (the attribute's name)
    before: list[Array] = []

    def counted(old: Array, one: Array) -> Array:
        if old >= limit:
            raise OutOfRangeError(f"ResourceCountUpTo: Reached limit of {limit}")
        before.append(np.array(old))
        return np.asarray(old + one)

    resource_of(resource).update(counted, np.ones((), T.numpy))
    return before[-1]


COUNT_UP_TO = define(
    name="ResourceCountUpTo",
    signature="resource: resource -> output: T",
    types={"T": INDEX},
    attrs={"limit": attr("int")},
    infer=scalar,
    kernel=_count_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="write",
)


def _device_kernel(*, device_names: tuple[str, ...]) -> Array:
    names = [str(name) for name in device_names]
    return np.array(names.index("CPU") if "CPU" in names else len(names), np.int32)


# Selects a branch of Case by the graph's device.
DEVICE_INDEX = define(
    name="DeviceIndex",
    signature="-> index: int32",
    attrs={"device_names": attr("list(string)")},
    infer=scalar,
    kernel=_device_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)
