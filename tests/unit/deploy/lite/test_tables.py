"""Immutable tables are written, and LiteRT gives the results of the kernels."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.lite import export
from pinnace.deploy.lite.reading.saving import functions_of
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.framework.errors import UnimplementedError

pytest.importorskip("ai_edge_litert")

WORDS, NUMBERS = ["a", "b", "sea"], [7, -1, 1 << 40]


def table(keys: Any, values: Any, default: Any, kinds: tuple[Any, Any]) -> Any:
    start = tf.lookup.KeyValueTensorInitializer(
        tf.constant(keys, kinds[0]), tf.constant(values, kinds[1])
    )
    return tf.lookup.StaticHashTable(start, default)


def function(known: Any, shape: list[int | None], kind: Any) -> Any:
    traced = tf.function(lambda x: {"y": known.lookup(x)})
    return traced.get_concrete_function(tf.TensorSpec(shape, kind, name="x"))


@pytest.mark.parametrize("shape", [[None], [2, None]], ids=str)
@pytest.mark.parametrize(
    ("keys", "values", "default", "kinds"),
    [
        (WORDS, [4, 5, 6], -1, (tf.string, tf.int64)),
        (WORDS, [4, 5, 6], -1, (tf.string, tf.int32)),
        (WORDS, [4.5, 5.5, 6.0], 0.5, (tf.string, tf.float32)),
        (WORDS, ["x", "", "two"], "?", (tf.string, tf.string)),
        (NUMBERS, ["x", "", "two"], "?", (tf.int64, tf.string)),
        (NUMBERS, [4, 5, 6], -1, (tf.int64, tf.int64)),
        (NUMBERS, [4.5, 5.5, 6.0], 0.5, (tf.int64, tf.float32)),
        ([3, 1, 2], [4, 5, 6], -1, (tf.int32, tf.int32)),
    ],
    ids=lambda one: "-".join(kind.name for kind in one) if isinstance(one, tuple) else "",
)
def test_what_is_known_and_what_is_not(
    keys: Any, values: Any, default: Any, kinds: tuple[Any, Any], shape: list[int | None]
) -> None:
    traced = function(table(keys, values, default, kinds), shape, kinds[0])
    content = export(traced).content
    assert content is not None
    asked = [keys[2], keys[0], "none" if kinds[0] is tf.string else 99, keys[1]]
    x = np.asarray(tf.constant(asked, kinds[0]).numpy())
    x = x if len(shape) == 1 else np.stack([x, x[::-1]])
    wanted = traced(x=tf.constant(x))["y"].numpy()
    for way in WAYS:
        (found,) = Interpreter(content, way).run({"x": x}).values()
        assert found.dtype == wanted.dtype
        assert found.tolist() == wanted.tolist()
    (again,) = functions_of(content, "the file")[0].values()
    (read,) = again.run_arrays({"x": x}).values()
    assert read.tolist() == wanted.tolist()


def test_the_check_asks_for_words_that_the_table_has(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    run = Interpreter.run

    def listening(self: Any, feeds: Any, key: Any = None) -> Any:
        seen.update(feeds["x"].reshape(-1).tolist())
        return run(self, feeds, key)

    monkeypatch.setattr(Interpreter, "run", listening)
    words = [f"word{n}" for n in range(40)]
    known = table(words, list(range(40)), -1, (tf.string, tf.int64))
    export(function(known, [None, 9], tf.string))
    assert {one for one in seen if one.startswith(b"word")}


def test_one_table_of_two_places_is_one() -> None:
    known = table(WORDS, [4, 5, 6], -1, (tf.string, tf.int64))
    spec = tf.TensorSpec([None], tf.string, name="x")
    traced = tf.function(
        lambda x: {"y": known.lookup(x), "z": known.lookup(x[:1]), "n": known.size()}
    )
    content = export(traced.get_concrete_function(spec)).content
    assert content is not None
    found = Interpreter(content).run({"x": np.array([b"sea", b"a"], object)})
    assert sorted(np.asarray(one).tolist() for one in found.values() if one.ndim) == [[6], [6, 4]]


def test_a_table_that_the_model_changes_is_refused() -> None:
    known = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)

    def counted(x: tf.Tensor) -> dict[str, tf.Tensor]:
        counts = known.lookup(x) + 1
        known.insert(x, counts)
        return {"y": counts}

    spec = tf.TensorSpec([None], tf.string, name="x")
    with pytest.raises(UnimplementedError, match="LookupTableInsertV2 assigns"):
        export(tf.function(counted).get_concrete_function(spec))


def test_many_numbers_are_refused() -> None:
    numbers = list(range(5000))
    known = table(numbers, numbers, -1, (tf.int64, tf.int64))
    with pytest.raises(UnimplementedError, match="looks up numbers among 5000"):
        export(function(known, [None], tf.int64))
