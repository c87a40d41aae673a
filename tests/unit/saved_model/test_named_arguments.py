"""Arguments that a signature takes by name are checked one by one, even if their specs agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def signature(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A signature of six columns: four of floats, one of them with a known size, ints, strings."""
    specs = {name: tf.TensorSpec([None], tf.float32, name) for name in ("a", "b", "c")}
    specs |= {
        "pair": tf.TensorSpec([2], tf.float32, "pair"),
        "whole": tf.TensorSpec([None], tf.int32, "whole"),
        "words": tf.TensorSpec([None], tf.string, "words"),
    }

    class Table(tf.Module):
        @tf.function(input_signature=[specs])
        def columns(self, given: dict[str, Any]) -> dict[str, Any]:
            return {f"{name} again": tf.identity(x) for name, x in given.items()}

    folder: Path = tmp_path_factory.mktemp("table")
    table = Table()
    tf.saved_model.save(table, folder, signatures=table.columns)
    loaded = tf.saved_model.load(folder)
    found = loaded.signatures["serving_default"]
    found.keeps_it = loaded
    return found


def columns() -> dict[str, Any]:
    numbers = {name: tf.constant([k, k + 1.0]) for k, name in enumerate(("a", "b", "c", "pair"))}
    return {**numbers, "whole": tf.constant([1, 2]), "words": tf.constant(["x", "y"])}


def check(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert set(found) == {f"{name} again" for name in wanted}
    for name, x in wanted.items():
        assert found[f"{name} again"].numpy().tolist() == np.asarray(x).tolist()


def test_tensors_arrays_lists_and_variables(signature: Any) -> None:
    check(signature(**columns()), columns())
    given = {**columns(), "a": np.array([5, 6], np.float32), "b": [7.0, 8.0]}
    check(signature(**given), given)
    given = {**columns(), "c": tf.Variable([9.0, 3.0])}
    check(signature(**given), {**given, "c": [9.0, 3.0]})
    # Columns may differ in length, which the graph checks.
    given = {**columns(), "b": tf.constant([1.0])}
    check(signature(**given), given)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "b",
            tf.constant([[1.0, 2.0]]),
            r"argument 'b' must be float32\[\?\], got float32\[1, 2\]",
        ),
        ("pair", tf.constant([1.0]), r"argument 'pair' must be float32\[2\], got float32\[1\]"),
        ("c", tf.constant([1, 2]), "argument 'c' must be float32"),
        ("whole", tf.constant([1.0, 2.0]), "argument 'whole' must be int32"),
        ("words", tf.constant([1.0, 2.0]), "argument 'words' must be string"),
        ("a", tf.constant(["x", "y"]), "argument 'a' must be float32"),
    ],
)
def test_one_that_does_not_fit_is_named(signature: Any, name: str, value: Any, said: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        signature(**{**columns(), name: value})


def test_missing_and_unknown_ones_are_named(signature: Any) -> None:
    given = columns()
    del given["pair"]
    with pytest.raises(TypeError, match="missing pair"):
        signature(**given)
    with pytest.raises(TypeError, match="missing pair; unknown pear"):
        signature(**given, pear=tf.constant([1.0, 2.0]))


def test_tensors_and_arrays_that_are_defaults_are_saved(tmp_path: Path) -> None:
    class Scaled(tf.Module):
        @tf.function
        def plain(self, x: Any, by: Any = tf.constant(2.0), and_by: Any = 3) -> Any:  # noqa: B008 (is the subject)
            return x * by * and_by

        @tf.function(input_signature=[tf.TensorSpec([2])])
        def declared(self, x: Any = np.array([1.0, 5.0])) -> Any:  # noqa: B008 (is the subject)
            return x + 1.0

    model = Scaled()
    model.plain(tf.constant(1.0))
    tf.saved_model.save(model, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert loaded.plain(tf.constant(4.0)).numpy() == 24.0
    assert loaded.plain(tf.constant(4.0), tf.constant(0.5)).numpy() == 6.0
    assert loaded.declared().numpy().tolist() == [2.0, 6.0]


@pytest.mark.parametrize(
    "function",
    [lambda x: (x, (x, x)), lambda x: [x, {"a": x}], lambda _: None, lambda x: {"a": [x]}],
)
def test_a_signature_gives_tensors_at_one_level(function: Any, tmp_path: Path) -> None:
    model = tf.Module()
    model.f = tf.function(function)
    concrete = model.f.get_concrete_function(tf.constant(1.0))
    with pytest.raises(ValueError, match="non-Tensor"):
        tf.saved_model.save(model, str(tmp_path / "model"), concrete)


def test_an_attribute_named_signatures_is_not_overwritten(tmp_path: Path) -> None:
    model = tf.Module()
    model.signatures = tf.Variable(1.0)
    with pytest.raises(ValueError, match=r"del obj\.signatures"):
        tf.saved_model.save(model, str(tmp_path / "model"))


def test_python_values_may_be_passed_again_by_position_or_keyword() -> None:
    function = tf.function(lambda x, y, z=2: (x["a"] + x["b"], y[0] * y[1] * z))
    x, y = {"a": 3, "b": 4, "c": 9}, (tf.constant(5.0), 6)
    for concrete in (
        function.get_concrete_function(x, y),
        function.get_concrete_function(x, y=y),
        function.get_concrete_function(x=x, y=y),
    ):
        for found in (concrete(x, y), concrete(x, y=y), concrete(x=x, y=y), concrete(y[0])):
            assert [float(one) for one in found] == [7.0, 60.0]
        with pytest.raises(TypeError, match=r"was traced.*, got"):
            concrete({**x, "a": 1}, y)
