"""Functions under NumPy's names: error messages, unknown sizes while tracing, saving.

tests/oracle/test_numpy_names.py compares numbers and dtypes with TensorFlow's.
"""

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from support.fresh_process import run_fresh

tnp = tf.experimental.numpy


@pytest.mark.parametrize("name", ["T", "astype", "reshape", "ravel", "size", "tolist", "clip"])
def test_a_method_of_numpy_s_says_how_to_get_it(name: str) -> None:
    x = tf.constant([1.0])
    assert not hasattr(x, name)
    with pytest.raises(AttributeError, match="experimental_enable_numpy_behavior"):
        getattr(x, name)


def test_without_the_behavior_operators_take_one_dtype() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant(1) + tf.constant(1.5)
    assert tnp.add(tf.constant(1), tf.constant(1.5)).dtype is tf.float64


def test_functions_are_pickled_by_the_names_they_are_defined_under() -> None:
    functions = [f for f in vars(tnp).values() if inspect.isfunction(f) and f.__name__[0] != "_"]
    assert len(functions) > 170
    for function in functions:
        assert pickle.loads(pickle.dumps(function)) is function, function  # noqa: S301 (its own bytes)
        assert function.__doc__, function


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="must be 'off', 'legacy', 'safe' or 'all', got 'numpy'"):
        tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="numpy")


BEHAVIOR = """
import numpy as np
import pinnace as tf

plain = tf.Tensor.__add__
tf.experimental.numpy.experimental_enable_numpy_behavior()
x = tf.constant([[1, 2], [3, 4]])
ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
print((x + 0.5).dtype.name, (x @ [1, 1]).numpy().tolist(), x.T[[1, 0], 0].numpy().tolist())
print((ragged + 1).to_list(), (1.0 + ragged).to_list(), (tf.constant("a") + "b").numpy())
print(isinstance(x, tf.experimental.numpy.ndarray), tf.Variable([1, 2])[0].numpy())
model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.ones((4, 2), np.float32), np.ones((4, 1), np.float32), verbose=0)
print(*[tf.as_dtype(x.dtype).name for x in (model.weights[0], tf.keras.Input((2,)) + 1)])
tf.experimental.numpy.experimental_enable_numpy_behavior(dtype_conversion_mode="off")
print(tf.Tensor.__add__ is plain)
"""


def test_ragged_tensors_text_variables_and_layers_go_on_as_before() -> None:
    assert run_fresh(BEHAVIOR).splitlines() == [
        "float64 [3, 7] [2, 1]",
        "[[2.0], [3.0, 4.0]] [[2.0], [3.0, 4.0]] b'ab'",
        "True 1",
        "float32 float32",
        "True",
    ]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: tnp.swapaxes(x, 0, 1), "swapaxes: the number of axes must be known"),
        (tnp.nonzero, "number of axes must be known"),
    ],
)
def test_an_unknown_rank_is_told_while_tracing(function: Any, said: str) -> None:
    traced = tf.function(function, input_signature=[tf.TensorSpec(None, tf.float32)])
    with pytest.raises(ValueError, match=said):
        traced(tf.ones([2, 2]))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tnp.arange(0, 3, 0), "arange: step must be non-zero"),
        (lambda: tnp.linspace(0, 1, -1), "linspace: num must be a non-negative integer, got -1"),
        (lambda: tnp.reshape([1], 1, "A"), "reshape: order must be 'C' or 'F', got 'A'"),
        (lambda: tnp.take([1], 0, mode="raise"), "take: mode must be 'clip' or 'wrap'"),
        (lambda: tnp.where([True], 1), "where: x and y must be given both or neither"),
        (lambda: tnp.select([], []), "select: condlist must be non-empty"),
        (lambda: tnp.average([[1, 2]], 0, [1, 2, 3, 4]), "."),
        (lambda: tnp.average([[1, 2]], None, [1]), "average: weights must have the shape of a"),
        (lambda: tnp.gcd(1.5, 2), "gcd: x1 and x2 must be integers, got float64"),
        (lambda: tnp.diag(np.ones((1, 1, 1))), "diag: v must have one or two axes"),
        (lambda: tnp.vsplit(np.ones(3), 2), "does not result in an equal division: 3 by 2"),
        (lambda: tnp.split(np.ones(3), [2, 1]), "cut 1 \\(1\\) is smaller"),
        (lambda: tnp.random.seed([]), "seed: s must be an integer"),
        (lambda: tnp.random.randint(3, dtype=float), "randint: dtype must be int32 or int64"),
    ],
)
def test_what_does_not_fit_is_told(call: Any, said: str) -> None:
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=said):
        call()


def test_a_saved_function_gives_the_same_numbers(tmp_path: Path) -> None:
    module = tf.Module()

    def scores(x: Any) -> Any:
        centred = tnp.subtract(x, tnp.mean(x, 0))
        return tnp.take_along_axis(centred, tnp.argsort(centred, 1), 1)

    module.scores = tf.function(scores, input_signature=[tf.TensorSpec([None, 3], tf.float32)])  # type: ignore[attr-defined] # as users do
    x = np.array([[3.0, 1.0, 2.0], [5.0, 9.0, 4.0]], np.float32)
    centred = x - x.mean(0)
    tf.saved_model.save(module, str(tmp_path / "scores"))
    loaded: Any = tf.saved_model.load(str(tmp_path / "scores"))
    np.testing.assert_array_equal(loaded.scores(tf.constant(x)).numpy(), np.sort(centred, 1))
