"""Keys and counters of stateless random ops, derived from seeds."""

from typing import Any

import numpy as np

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import (
    INDEX,
    int32,
    int64,
)
from pinnace.framework.shapes import SCALAR, Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.array import casting, constants
from pinnace.ops.execute import execute
from pinnace.ops.kernels import philox
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, OpDef, typed
from pinnace.ops.random.algorithms import Algorithm, algorithm_number, check_philox
from pinnace.ops.registry import define

SEED_TYPES = typed(INDEX, int64)


def check_seed(call: InferCall, index: int) -> None:
    """Fail unless input `index`, a seed, consists of two numbers."""
    if not call.spec(index).shape.is_compatible_with([2]):
        call.fail("seed must be a vector of 2 numbers")


def key_counter_alg(seed: TensorLike, alg: Any) -> tuple[Tensor, Tensor, Any]:
    """Key, counter and algorithm number for ops that draw.

    Raises:
        InvalidArgumentError: an algorithm that CPUs do not have.
    """
    number = algorithm_number(alg)
    if number == Algorithm.THREEFRY.value:
        check_philox("stateless random ops", np.asarray(number))
    key, counter = execute(GET_KEY_COUNTER, seed_tensor(seed))
    return key, counter, constants.constant(number, int32)


def _key_counter_kernel(seed: Array) -> tuple[Array, Array]:
    return philox.key_counter_from_seed(seed.tolist()).arrays


def _infer_key_counter(call: InferCall) -> tuple[Shape, Shape]:
    check_seed(call, 0)
    return Shape([1]), Shape([2])


GET_KEY_COUNTER: OpDef = define(
    name="StatelessRandomGetKeyCounter",
    signature="seed: Tseed -> key: uint64, counter: uint64",
    types={"Tseed": SEED_TYPES},
    infer=_infer_key_counter,
    kernel=_key_counter_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def _get_alg_kernel() -> Array:
    return np.asarray(Algorithm.PHILOX.value, np.int32)


GET_ALG: OpDef = define(
    name="StatelessRandomGetAlg",
    signature="-> alg: int32",
    infer=lambda call: SCALAR,  # noqa: ARG005
    kernel=_get_alg_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="io",
)


def _key_counter_alg_kernel(seed: Array) -> tuple[Array, Array, Array]:
    return (*_key_counter_kernel(seed), _get_alg_kernel())


def _infer_key_counter_alg(call: InferCall) -> tuple[Shape, Shape, Shape]:
    return (*_infer_key_counter(call), SCALAR)


GET_KEY_COUNTER_ALG: OpDef = define(
    name="StatelessRandomGetKeyCounterAlg",
    signature="seed: Tseed -> key: uint64, counter: uint64, alg: int32",
    types={"Tseed": SEED_TYPES},
    infer=_infer_key_counter_alg,
    kernel=_key_counter_alg_kernel,
    gradient=NOT_DIFFERENTIABLE,
)


def seed_tensor(seed: Any) -> Tensor:
    """A seed as an argument of ops: int32 if its values fit and it has no other dtype."""
    found = convert_to_tensor(seed)
    return found if found.dtype in INDEX else casting.cast(found, int64)
