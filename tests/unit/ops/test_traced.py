"""Claims about every case of every op: traced, planned, saved and loaded, results are equal."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework.tensor import Tensor
from pinnace.functions.concrete import ConcreteFunction
from pinnace.functions.tracing import trace
from pinnace.ops.execute import execute
from support.opcase import Inputs, OpCase, all_cases, arrays_of, tensors_of

if TYPE_CHECKING:
    from pathlib import Path

# Random ops give other numbers each time; all others must agree bit for bit.
CASES = [case for case in all_cases() if case.definition.effect is None]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def eager(case: OpCase, xs: Inputs, attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return arrays_of(execute(case.definition, *tensors_of(xs), **attrs))


def flat(xs: tuple[Any, ...]) -> list[Any]:
    return [x for one in xs for x in (one if isinstance(one, tuple) else (one,))]


def traced(case: OpCase, xs: Inputs, attrs: dict[str, Any], *, known: bool) -> ConcreteFunction:
    """A function of the op's inputs, with known or unknown shapes."""
    tensors = tensors_of(xs)

    def f(*leaves: Tensor) -> Any:
        rest = iter(leaves)
        packed = [
            tuple(next(rest) for _ in one) if isinstance(one, tuple) else next(rest)
            for one in tensors
        ]
        return execute(case.definition, *packed, **attrs)

    specs = tuple(
        tf.TensorSpec(t.shape if known else None, t.dtype, f"x{i}")
        for i, t in enumerate(flat(tensors))
    )
    return trace(f, specs, {}, case.op, names=[(f"x{i}",) * 2 for i in range(len(specs))])[0]


def assert_same(found: tuple[np.ndarray, ...], wanted: tuple[np.ndarray, ...]) -> None:
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        if a.dtype == object:
            np.testing.assert_array_equal(a, b)
        else:
            assert a.shape == b.shape
            # A run flushes denormals to zero, an eager op does not (ADR 24).
            a, b = _without_denormals(a), _without_denormals(b)
            # Views as bytes, so that NaN equals NaN and 0 differs from -0.
            assert a.tobytes() == b.tobytes() or np.array_equal(
                a.astype(np.complex128), b.astype(np.complex128), equal_nan=True
            )


def _without_denormals(array: np.ndarray) -> np.ndarray:
    """Denormals replaced by zeros of the same sign; all other bits unchanged."""
    if array.dtype not in (np.float32, np.float64, np.complex64, np.complex128):
        return array
    parts = np.ascontiguousarray(array).reshape(-1).view(array.real.dtype)
    is_denormal = np.abs(parts) < np.finfo(parts.dtype).tiny
    return np.where(is_denormal, np.copysign(np.zeros_like(parts), parts), parts)


@every_case
@settings(max_examples=5)
@given(data=st.data())
def test_traced_gives_what_eager_gives(case: OpCase, data: st.DataObject) -> None:
    xs, attrs = case.draw_first(data)
    wanted = eager(case, xs, attrs)
    for known in (True, False):
        concrete = traced(case, xs, attrs, known=known)
        assert_same(arrays_of(concrete(*flat(tensors_of(xs)))), wanted)


@every_case
@settings(max_examples=1)
@given(data=st.data())
def test_saved_and_loaded_gives_the_same(
    case: OpCase, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    xs, attrs = case.draw_first(data)
    concrete = traced(case, xs, attrs, known=False)
    folder: Path = tmp_path_factory.mktemp("model") / "saved"
    module = tf.Module()
    arguments = flat(tensors_of(xs))
    outputs = concrete(*arguments)
    results = list(outputs) if isinstance(outputs, tuple) else [outputs]

    def signature(**leaves: Tensor) -> dict[str, Tensor]:
        found = concrete(*[leaves[f"x{i:03d}"] for i in range(len(arguments))])
        return {f"y{i:03d}": y for i, y in enumerate(_leaves(found))}

    specs = {
        f"x{i:03d}": tf.TensorSpec(None, t.dtype, f"x{i:03d}") for i, t in enumerate(arguments)
    }
    function = tf.function(signature).get_concrete_function(**specs)
    tf.saved_model.save(module, folder, signatures=function)
    loaded = tf.saved_model.load(folder).signatures["serving_default"]
    found = loaded(**{f"x{i:03d}": t for i, t in enumerate(arguments)})
    assert_same(
        tuple(np.asarray(found[name]._array) for name in sorted(found)),
        tuple(np.asarray(y._array) for y in _leaves(results)),
    )


def _leaves(found: Any) -> list[Tensor]:
    return flat(tuple(found)) if isinstance(found, (tuple, list)) else [found]
