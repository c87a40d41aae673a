"""Claims about every case of every op: traced, planned, saved and loaded, results are equal."""

from pathlib import Path
from typing import Any

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

# Random ops give other numbers each time; all others must agree bit for bit.
CASES = [case for case in all_cases() if case.definition.effect is None]


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


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=5)
@given(data=st.data())
def test_traced_gives_what_eager_gives_and_so_does_one_saved_and_loaded(
    case: OpCase, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    xs, attrs = case.draw_first(data)
    wanted = eager(case, xs, attrs)
    arguments = flat(tensors_of(xs))
    assert_same(arrays_of(traced(case, xs, attrs, known=True)(*arguments)), wanted)
    concrete = traced(case, xs, attrs, known=False)
    outputs = concrete(*arguments)
    assert_same(arrays_of(outputs), wanted)
    if id(case) in _saved:
        return
    results = saved_and_loaded(concrete, arguments, tmp_path_factory.mktemp("model") / "saved")
    assert_same(results, arrays_of(outputs))
    _saved.add(id(case))


# The cases that one example has passed: files take longer than all that is before them.
_saved: set[int] = set()


def saved_and_loaded(
    concrete: ConcreteFunction, arguments: list[Tensor], folder: Path
) -> tuple[np.ndarray, ...]:
    def signature(**leaves: Tensor) -> dict[str, Tensor]:
        found = concrete(*[leaves[f"x{i:03d}"] for i in range(len(arguments))])
        return {f"y{i:03d}": y for i, y in enumerate(_leaves(found))}

    specs = {
        f"x{i:03d}": tf.TensorSpec(None, t.dtype, f"x{i:03d}") for i, t in enumerate(arguments)
    }
    function = tf.function(signature).get_concrete_function(**specs)
    tf.saved_model.save(tf.Module(), folder, signatures=function)
    loaded = tf.saved_model.load(folder).signatures["serving_default"]
    found = loaded(**{f"x{i:03d}": t for i, t in enumerate(arguments)})
    return tuple(np.asarray(found[name]._array) for name in sorted(found))


def _leaves(found: Any) -> list[Tensor]:
    return flat(tuple(found)) if isinstance(found, (tuple, list)) else [found]
