"""Runs one module of tf2onnx's tests, whose conversion of a function is replaced by saving it.

Run by TensorFlow's interpreter, with tf2onnx and its tests on the path:
`python -m peers.captures.functions MODULE FOLDER CASES [WORD …]`.
"""

from __future__ import annotations

import importlib
import os
import unittest
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from peers.captures.writing import Enough, TooLong, Writer, arguments, changed, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_OPEN = 4  # number of a test's cases that are also captured with unknown sizes


def _unchanged(*_: Any, **__: Any) -> Callable[[Any], Any]:
    return lambda function: function


# tf2onnx's restrictions by version, opset and runtime are ignored.
unittest.skip = unittest.skipIf = unittest.skipUnless = _unchanged
import backend_test_base  # noqa: E402
import common  # noqa: E402

_SKIPS = (
    *("check_opset", "check_tf", "skip_", "requires_", "check_onnxruntime", "check_target"),
    *("allow_missing", "timeout"),
)
for _name in dir(common):
    if _name.startswith(_SKIPS):
        setattr(common, _name, _unchanged)


class _Anything:
    """A stand-in for a converted graph, which some tests inspect."""

    def __getattr__(self, name: str) -> Callable[..., list[Any]]:
        return lambda *_, **__: []


def _named(function: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    def call(*xs: Any) -> dict[str, Any]:
        found = function(*xs)
        items = list(found) if isinstance(found, (list, tuple)) else [found]
        return {f"output_{n}": tf.convert_to_tensor(item) for n, item in enumerate(items)}

    return call


def _by_function(function: Callable[..., Any], specs: list[Any]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        holder = tf.Module()
        holder.f = tf.function(_named(function), input_signature=specs)
        holder.f.get_concrete_function()
        tf.saved_model.save(holder, str(folder), signatures={"serving_default": holder.f})

    return write


def _by_wrapping(function: Callable[..., Any], specs: list[Any]) -> Callable[[Path], None]:
    """Functions that create variables in each call."""

    def write(folder: Path) -> None:
        with tf.init_scope():
            wrapped = tf.compat.v1.wrap_function(_named(function), specs)
        holder = tf.Module()
        holder.wrapped, holder.variables_of = wrapped, list(wrapped.graph.variables)
        names = [spec.name for spec in specs]
        holder.f = tf.function(lambda **xs: wrapped(*[xs[name] for name in names]))
        concrete = holder.f.get_concrete_function(**dict(zip(names, specs, strict=True)))
        tf.saved_model.save(holder, str(folder), signatures={"serving_default": concrete})

    return write


def _by_session(
    function: Callable[..., Any], feed: dict[str, Any], outputs: list[str], *, has_inputs: bool
) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        v1 = tf.compat.v1
        graph = tf.Graph()
        v1.reset_default_graph()
        with graph.as_default(), v1.Session(graph=graph) as session:
            v1.set_random_seed(1)
            given = [
                v1.placeholder(tf.as_dtype(value.dtype), shape=value.shape, name=name)
                for name, value in ({} if has_inputs else feed).items()
            ]
            function(*given)
            session.run(v1.global_variables_initializer())
            tables = v1.tables_initializer()
            session.run(tables)
            info = v1.saved_model.utils.build_tensor_info
            signature = v1.saved_model.signature_def_utils.build_signature_def(
                {name: info(graph.get_tensor_by_name(f"{name}:0")) for name in feed},
                {
                    f"output_{n}": info(graph.get_tensor_by_name(name))
                    for n, name in enumerate(outputs)
                },
                "tensorflow/serving/predict",
            )
            # TensorFlow creates the folder itself.
            folder.rmdir()
            builder = v1.saved_model.Builder(str(folder))
            builder.add_meta_graph_and_variables(
                session,
                ["serve"],
                {"serving_default": signature},
                main_op=tables,
                assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            )
            builder.save()

    return write


def _replaced(writer: Writer) -> Callable[..., Any]:
    def run_test_case(
        _self: unittest.TestCase,
        func: Callable[..., Any],
        feed_dict: dict[str, Any],
        _inputs: list[str],
        outputs: list[str],
        rtol: float = 1e-07,
        atol: float = 1e-5,
        mtol: float | None = None,
        **options: Any,
    ) -> Any:
        writer.next()
        np.random.seed(1)  # noqa: NPY002 (what the tests themselves draw from)
        tf.random.set_seed(1)
        feed = {name.split(":")[0]: np.asarray(value) for name, value in feed_dict.items()}
        looks_at = [k for k in ("value", "shape", "dtype") if options.get(f"check_{k}", True)]
        settings = {"rtol": rtol, "atol": atol, "mtol": mtol, "looks_at": looks_at}
        fixed = [tf.TensorSpec(v.shape, tf.as_dtype(v.dtype), k) for k, v in feed.items()]
        own = [("own", feed)]
        by_session = _by_session(
            func, feed, outputs, has_inputs=options.get("premade_placeholders", False)
        )
        if options.get("as_session") or not tf.executing_eagerly():
            writer.write("", by_session, own, settings)
            return _Anything()
        if not writer.write("", _by_function(func, fixed), own, settings) and not writer.write(
            "", _by_wrapping(func, fixed), own, settings
        ):
            writer.write("", by_session, own, settings)
        elif writer.count <= _OPEN and any(value.ndim for value in feed.values()):
            specs = [tf.TensorSpec([None] * len(s.shape), s.dtype, s.name) for s in fixed]
            feeds = [*own, *changed(feed)]
            writer.write(".open", _by_function(func, specs), feeds, settings)
        return _Anything()

    return run_test_case


def _tests(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _tests(test)
        else:
            yield test


def main() -> None:
    name, folder, log, limit, words = arguments()
    writer = Writer(folder, log, limit)
    backend_test_base.Tf2OnnxBackendTestBase.run_test_case = _replaced(writer)
    os.chdir(os.environ["TF2ONNX_TESTS"])
    watch()
    suite = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(name))
    tests = list(_tests(suite))
    for test in tests:
        if test.id() in log.begun or (words and not any(word in test.id() for word in words)):
            continue
        writer.begin(test.id())
        found = unittest.TestResult()
        raised = ""
        try:
            test.run(found)
        except (Enough, TooLong) as error:
            raised = type(error).__name__
        bad = [text.strip().splitlines()[-1][:300] for _, text in found.errors + found.failures]
        log.say(end=test.id(), cases=writer.count, raised=raised, bad=bad)
    log.say(finished=len(tests), words=words)


if __name__ == "__main__":
    main()
