"""Runs tf2onnx's tests of Keras' layers, whose conversion of a model is replaced by saving it.

Run by TensorFlow's interpreter, with tf2onnx and its tests on the path; Keras 2 with
`TF_USE_LEGACY_KERAS=1`: `python -m peers.captures.layers NAME FOLDER CASES [WORD …]`.
"""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import tensorflow as tf

from peers.captures.writing import Enough, TooLong, Writer, arguments, changed, watch

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = ("test_layers.py", "test_subclassing.py", "test_cgan.py")


class _Held:
    """A stand-in for a converted model: the model itself, whatever attribute is requested."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __getattr__(self, name: str) -> _Held:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Mapping(types.ModuleType):
    """`onnx.mapping`, which tf2onnx's tests import and newer versions no longer have."""

    def __getattr__(self, name: str) -> dict[Any, Any]:
        return {}


def _convert(model: Any = None, *_: Any, **__: Any) -> _Held:
    return _Held(model)


def _write(writer: Writer, model: Any, data: Any, rtol: float, atol: float) -> None:
    writer.next()
    while isinstance(model, _Held):
        model = model.__dict__["model"]
    inputs = model.inputs or []
    specs = [tf.TensorSpec([None, *x.shape[1:]], x.dtype, f"x{n}") for n, x in enumerate(inputs)]
    values = list(data.values()) if isinstance(data, dict) else data
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    feed = {
        spec.name: np.asarray(value).astype(spec.dtype.as_numpy_dtype)
        for spec, value in zip(specs, values, strict=True)
    }

    def save(folder: Path) -> None:
        def call(*xs: Any) -> dict[str, Any]:
            found = model(list(xs) if len(specs) > 1 else xs[0], training=False)
            return {f"output_{n}": x for n, x in enumerate(tf.nest.flatten(found))}

        holder = tf.Module()
        holder.model = model
        holder.f = tf.function(call, input_signature=specs)
        tf.saved_model.save(holder, str(folder), signatures={"serving_default": holder.f})

    looks_at = ("value", "shape", "dtype")
    settings = {"rtol": rtol, "atol": atol, "mtol": None, "looks_at": looks_at}
    writer.write("", save, [("own", feed), *changed(feed)], settings)


class _Plugin:
    """Logs the start of each test, and skips those that were started before."""

    def __init__(self, keras: str, writer: Writer, begun: set[str], words: list[str]) -> None:
        self._keras, self._writer, self._begun, self._words = keras, writer, begun, words

    def _name(self, item: pytest.Item) -> str:
        return f"{self._keras}.{item.name}"

    def _is_wanted(self, item: pytest.Item) -> bool:
        name, words = self._name(item), self._words
        return name not in self._begun and (not words or any(word in name for word in words))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if self._is_wanted(item)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        self._writer.begin(self._name(item))
        try:
            return (yield)
        except (Enough, TooLong):
            return None


def main() -> None:
    name, folder, log, limit, words = arguments()
    base = Path(os.environ["TF2ONNX_TESTS"]) / "keras2onnx_unit_tests"
    sys.path.insert(0, str(base))
    sys.modules["onnx.mapping"] = _Mapping("onnx.mapping")
    for module in ("tf2onnx.keras2onnx_api", "mock_keras2onnx"):
        __import__(module)
        sys.modules[module].convert_keras = _convert
    import test_utils

    writer = Writer(folder, log, limit)

    def of_onnx(
        _case: str,
        model: Any,
        data: Any,
        _expected: Any = None,
        _files: Any = None,
        rtol: float = 1e-3,
        atol: float = 1e-6,
        **_: Any,
    ) -> bool:
        _write(writer, model, data, rtol, atol)
        return True

    def of_keras(_case: str, _onnx: Any, model: Any, data: Any, *more: Any, **options: Any) -> bool:
        return of_onnx(_case, model, data, *more, **options)

    test_utils.run_onnx_runtime, test_utils.run_keras_and_ort = of_onnx, of_keras
    test_utils.convert_keras_for_test = _convert
    pytest.mark.skipif = pytest.mark.skip = lambda *_, **__: lambda function: function
    watch()
    ended = pytest.main(
        # Without the settings of its source, which require tools that are not installed.
        ["-q", "-c", os.devnull, "--rootdir", str(base), "-p", "no:cacheprovider"]
        + [str(base / file) for file in FILES],
        plugins=[_Plugin(name, writer, log.begun, words)],
    )
    log.say(finished=int(ended), words=words)


if __name__ == "__main__":
    main()
