"""Generator: a stream of random numbers whose state is a variable."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pinnace.framework import places
from pinnace.framework.autotrackable import AutoTrackable
from pinnace.framework.context import init_scope
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import (
    FLOATS,
    INTEGERS,
    DType,
    as_dtype,
    float32,
    int32,
    int64,
    uint64,
)
from pinnace.framework.shapes import Shape
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.framework.variable import Variable
from pinnace.ops.array import casting, constants, joining, reshaping
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels import philox
from pinnace.ops.math import arithmetic, reduction
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, OpDef, typed
from pinnace.ops.random import counters, distributions, stateless
from pinnace.ops.random.algorithms import Algorithm, algorithm_number, check_philox
from pinnace.ops.registry import define

__all__ = ["Generator", "create_rng_state", "get_global_generator", "set_global_generator"]

_MASK = (1 << 64) - 1
# Entries of the state: the counter, then the key.
_STATE_SIZES = {
    Algorithm.PHILOX.value: 3,
    Algorithm.THREEFRY.value: 2,
    Algorithm.AUTO_SELECT.value: 3,
}


def create_rng_state(seed: Any, alg: Any) -> Tensor:
    """The state of a generator that starts from `seed`.

    Args:
        seed: an integer of any size, or a vector of integers.
        alg: the algorithm.

    Returns:
        [3] for Philox, int64.
    """
    size = _STATE_SIZES[algorithm_number(alg)]
    if isinstance(seed, int):
        # The lowest 64 bits first; Python's integers have any number of bits.
        seed = [seed >> 64 * place for place in range(size)]
    return _state_tensor(seed, size)


def _state_tensor(state: Any, size: int) -> Tensor:
    """An int64 vector, [size]: the last entries of `state`, preceded by zeros."""
    if isinstance(state, Tensor):
        flat = reshaping.reshape(casting.cast(state, int64), [-1])[:size]
        missing = size - (flat.shape[0] or 0)
        return joining.concat([constants.zeros([missing], int64), flat], 0) if missing else flat
    numbers = [int(n) & _MASK for n in np.asarray(state, object).reshape(-1)[:size]]
    padded = [0] * (size - len(numbers)) + numbers
    return constants.constant(np.array(padded, np.uint64).view(np.int64))


class Generator(AutoTrackable):
    """A stream of random numbers; every draw advances its state, a variable.

    Args:
        copy_from: another generator, whose state is copied; excludes all other arguments.
        state: int64 [3], the counter's two halves and the key; a variable is used as it is.
        alg: "philox" or "auto_select".

    Raises:
        ValueError: the arguments do not go together, or the state has another shape.

    Source:
        TensorFlow `tf.random.Generator`; its numbers, bit for bit.
    """

    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None) -> None:
        if copy_from is not None:
            if state is not None or alg is not None:
                raise ValueError("Generator: copy_from excludes all other arguments")
            alg, state = copy_from.algorithm, copy_from.state.value()
        if state is None or alg is None:
            raise ValueError(
                "Generator: state and alg must be given. Try: Generator.from_seed(seed)"
            )
        self._alg = int(algorithm_number(alg))
        size = _STATE_SIZES[self._alg]
        self._is_shared = places.current() is not None
        if isinstance(state, Variable):
            state.shape.assert_is_compatible_with(Shape([size]))
            self._state_var = state
            return
        if np.shape(state) not in {(size,), ()} and not isinstance(state, Tensor):
            raise ValueError(
                f"Generator: state must have shape [{size}], got {list(np.shape(state))}"
            )
        value = _state_tensor(state, size)
        value.shape.assert_is_compatible_with(Shape([size]))
        # The variable's name in TensorFlow's checkpoints and in Keras.
        self._state_var = Variable(value, trainable=False, name="StateVar", dtype=int64)

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> "Generator":
        """A generator that continues from `state`."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> "Generator":
        """A generator that starts from `seed`, an integer of any size or a vector of integers."""
        alg = Algorithm.PHILOX if alg is None else alg
        return cls(state=create_rng_state(seed, alg), alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> "Generator":
        """A generator with an unpredictable seed."""
        alg = Algorithm.PHILOX if alg is None else alg
        size = _STATE_SIZES[algorithm_number(alg)]
        return cls(state=np.frombuffer(os.urandom(8 * size), np.int64), alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> "Generator":
        """A generator with this key, a scalar, and counter, [2] for Philox."""
        return cls(state=_key_counter_state(key, counter), alg=alg)

    def reset(self, state: Any) -> None:
        """Set the state of the generator."""
        value = _state_tensor(state, _STATE_SIZES[self._alg])
        self._state_var.assign(value)

    def reset_from_seed(self, seed: Any) -> None:
        """Set the state to that of a new generator with this seed."""
        self._state_var.assign(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Set the state to this key and counter."""
        self.reset(_key_counter_state(key, counter))

    @property
    def state(self) -> Variable:
        """The counter, followed by the key; int64."""
        return self._state_var

    @property
    def algorithm(self) -> int:
        """The number of the algorithm."""
        return self._alg

    @property
    def key(self) -> Tensor:
        """The last entry of the state."""
        return self._state_var[-1]  # type: ignore[no-any-return]

    def skip(self, delta: TensorLike) -> Tensor:
        """Advance as if `delta` numbers had been drawn.

        Returns:
            The state before, int64.
        """
        count = casting.cast(convert_to_tensor(delta), uint64)
        alg = constants.constant(self._alg, int32)
        place = places.current()
        if place is None or (place.replica is None and place.updates is None):
            # Advance all replicas' copies, which would diverge otherwise.
            for copy in getattr(self._state_var, "values", ())[1:]:
                execute_one(RNG_READ_AND_SKIP, copy, alg, count)
        return execute_one(RNG_READ_AND_SKIP, self._state_var, alg, count)

    def _key_of_replica(self, key: Tensor) -> Tensor:
        """The key, which each replica of a strategy modifies in its own way.

        Source:
            TensorFlow: a number drawn from the key at the place of the replica's number.
        """
        place = places.current()
        if not self._is_shared or place is None or place.replica is None:
            return key
        counter = constants.constant(np.array([place.replica, 0], np.uint64))
        op = stateless.UNIFORM_FULL_INT_V2
        return execute_one(op, [1], key, counter, self._alg, dtype=uint64)

    def _draw(self, op: OpDef, shape: Tensor, *more: Any, **attrs: Any) -> Tensor:
        """Draw from the current position of the stream, and advance it."""
        before = self.skip(reduction.reduce_prod(shape))
        counter, key = before[:-1], before[-1:]
        return execute_one(
            op,
            shape,
            self._key_of_replica(casting.bitcast(key, uint64)),
            casting.bitcast(counter, uint64),
            self._alg,
            *more,
            **attrs,
        )

    def normal(
        self,
        shape: TensorLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Tensor:
        """Normal numbers; see `random.normal`."""
        return self._scaled(stateless.NORMAL_V2, shape, mean, stddev, dtype, name)

    def truncated_normal(
        self,
        shape: TensorLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Tensor:
        """Normal numbers within two standard deviations; see `random.truncated_normal`."""
        return self._scaled(stateless.TRUNCATED_NORMAL_V2, shape, mean, stddev, dtype, name)

    def _scaled(
        self,
        op: OpDef,
        shape: TensorLike,
        mean: TensorLike,
        stddev: TensorLike,
        dtype: Any,
        name: str | None,
    ) -> Tensor:
        kind = as_dtype(dtype)
        centre, scale = convert_to_tensor(mean, kind), convert_to_tensor(stddev, kind)
        drawn = self._draw(op, stateless.shape_tensor(shape), dtype=kind)
        return arithmetic.add(drawn * scale, centre, name)

    def uniform(
        self,
        shape: TensorLike,
        minval: TensorLike | None = 0,
        maxval: TensorLike | None = None,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Tensor:
        """Uniform numbers in [minval, maxval); see `random.stateless_uniform`."""
        kind = as_dtype(dtype)
        stateless.check_uniform_bounds("Generator.uniform", kind, minval, maxval)
        if kind.is_integer and minval is None:
            return self.uniform_full_int(shape, kind, name)
        sizes = stateless.shape_tensor(shape)
        low = convert_to_tensor(minval, kind)
        high = convert_to_tensor(1 if maxval is None else maxval, kind)
        if kind.is_integer:
            return self._draw(stateless.UNIFORM_INT_V2, sizes, low, high, name=name)
        drawn = self._draw(stateless.UNIFORM_V2, sizes, dtype=kind)
        return arithmetic.add(drawn * (high - low), low, name)

    def uniform_full_int(
        self, shape: TensorLike, dtype: Any = uint64, name: str | None = None
    ) -> Tensor:
        """Integers from the full range of `dtype`, equally likely."""
        sizes = stateless.shape_tensor(shape)
        op = stateless.UNIFORM_FULL_INT_V2
        return self._draw(op, sizes, dtype=as_dtype(dtype), name=name)

    def binomial(
        self,
        shape: TensorLike,
        counts: TensorLike,
        probs: TensorLike,
        dtype: Any = int32,
        name: str | None = None,
    ) -> Tensor:
        """The number of successes in `counts` trials; see `random.stateless_binomial`."""
        chances = convert_to_tensor(probs)
        return execute_one(
            distributions.STATEFUL_BINOMIAL,
            self._state_var,
            self._alg,
            stateless.shape_tensor(shape),
            convert_to_tensor(counts, dtype_hint=chances.dtype),
            chances,
            dtype=as_dtype(dtype),
            name=name,
        )

    def make_seeds(self, count: int = 1) -> Tensor:
        """Seeds for stateless ops: int64 [2, count]."""
        keys = self.uniform_full_int([count], int64)
        return joining.stack([keys, constants.zeros_like(keys)])

    def split(self, count: int = 1) -> "list[Generator]":
        """`count` generators with independent streams."""
        keys = joining.unstack(self.uniform_full_int([count], int64), num=count)
        zeros = constants.zeros([_STATE_SIZES[self._alg] - 1], int64)
        return [
            Generator(state=joining.concat([zeros, reshaping.reshape(key, [1])], 0), alg=self._alg)
            for key in keys
        ]


def _key_counter_state(key: Any, counter: Any) -> Any:
    if isinstance(key, Tensor) or isinstance(counter, Tensor):
        last = reshaping.reshape(casting.cast(convert_to_tensor(key), int64), [1])
        first = reshaping.reshape(casting.cast(convert_to_tensor(counter), int64), [-1])
        return joining.concat([first, last], 0)
    return [*np.asarray(counter, object).reshape(-1), key]


class _Global:
    """The global generator, created on first use."""

    generator: Generator | None = None


def get_global_generator() -> Generator:
    """The global generator, shared by programs without one of their own."""
    if _Global.generator is None:
        with init_scope():
            _Global.generator = Generator.from_non_deterministic_state()
    return _Global.generator


def set_global_generator(generator: Generator) -> None:
    """Replace the global generator; traced functions keep the one they were traced with."""
    _Global.generator = generator


_SHAPES = typed({int32, int64}, int64)
_INT_TYPES = frozenset({int32, int64, as_dtype("uint32"), uint64})


def _read_and_skip_kernel(resource: Array, alg: Array, delta: Array) -> Array:
    check_philox("RngReadAndSkip", alg)
    before, _ = counters.advance(resource, int(delta))
    return before


def _infer_state(call: InferCall) -> Shape:
    spec = call.handle(0)
    return Shape([None]) if spec is None or spec.shape.rank is None else spec.shape


RNG_READ_AND_SKIP: OpDef = define(
    name="RngReadAndSkip",
    signature="resource: resource, alg: int32, delta: uint64 -> value: int64",
    infer=_infer_state,
    kernel=_read_and_skip_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _skip_kernel(resource: Array, algorithm: Array, delta: Array) -> None:
    check_philox("RngSkip", algorithm)
    counters.advance(resource, int(delta))


def _infer_nothing(call: InferCall) -> tuple[Shape, ...]:  # noqa: ARG001
    return ()


RNG_SKIP: OpDef = define(
    name="RngSkip",
    signature="resource: resource, algorithm: int64, delta: int64 ->",
    infer=_infer_nothing,
    kernel=_skip_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _drawing(op: str, draw: Callable[..., Array]) -> Callable[..., Array]:
    def kernel(resource: Array, algorithm: Array, shape: Array, *, dtype: DType) -> Array:
        check_philox(op, algorithm)
        sizes = stateless.sizes_of(op, shape)
        _, start = counters.advance(resource, int(np.prod(sizes, dtype=np.int64)))
        return draw(start, sizes, dtype.numpy)

    return kernel


def _stateful(
    name: str, draw: Callable[..., Array], kinds: Iterable[DType], default: DType
) -> OpDef:
    return define(
        name=name,
        signature=f"{_DRAWING} -> output: dtype",
        types={"dtype": typed(kinds, default), "shape_dtype": _SHAPES},
        infer=_infer_from_shape,
        kernel=_drawing(name, draw),
        gradient=NO_GRADIENT_DEFINED,
        effect="write",
    )


def _infer_from_shape(call: InferCall) -> Shape:
    return call.shape_constant(2)


_DRAWING = "resource: resource, algorithm: int64, shape: shape_dtype"


STATEFUL_UNIFORM: OpDef = _stateful("StatefulUniform", philox.uniform, FLOATS, float32)
STATEFUL_STANDARD_NORMAL: OpDef = _stateful(
    "StatefulStandardNormalV2", philox.normal, FLOATS, float32
)
STATEFUL_TRUNCATED_NORMAL: OpDef = _stateful(
    "StatefulTruncatedNormal", philox.truncated_normal, FLOATS, float32
)
STATEFUL_UNIFORM_FULL_INT: OpDef = _stateful(
    "StatefulUniformFullInt", philox.uniform_full_int, _INT_TYPES, uint64
)


def _uniform_int_kernel(
    resource: Array, algorithm: Array, shape: Array, minval: Array, maxval: Array
) -> Array:
    op, low, high = "StatefulUniformInt", int(minval), int(maxval)
    check_philox(op, algorithm)
    sizes = stateless.sizes_of(op, shape)
    stateless.check_bounds(op, low, high)
    _, start = counters.advance(resource, int(np.prod(sizes, dtype=np.int64)))
    return philox.uniform_int(start, sizes, low, high, minval.dtype)


STATEFUL_UNIFORM_INT: OpDef = define(
    name="StatefulUniformInt",
    signature=f"{_DRAWING}, minval: dtype, maxval: dtype -> output: dtype",
    types={"dtype": typed(_INT_TYPES, int64), "shape_dtype": _SHAPES},
    infer=_infer_from_shape,
    kernel=_uniform_int_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _non_deterministic_kernel(shape: Array, *, dtype: DType) -> Array:
    sizes = stateless.sizes_of("NonDeterministicInts", shape)
    count = int(np.prod(sizes, dtype=np.int64))
    drawn = np.frombuffer(os.urandom(count * dtype.size), dtype.numpy)
    return drawn.reshape(sizes)


NON_DETERMINISTIC_INTS: OpDef = define(
    name="NonDeterministicInts",
    signature="shape: shape_dtype -> output: dtype",
    types={"dtype": typed(INTEGERS, int64), "shape_dtype": _SHAPES},
    infer=stateless.infer_from_shape,
    kernel=_non_deterministic_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="random",
)
