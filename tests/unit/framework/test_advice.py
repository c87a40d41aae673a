"""Suggestions in errors: the wider dtype, the name in version 2, packages beside pinnace."""

import importlib.util

import pytest

import pinnace as tf
from support.fresh_process import run_fresh


@pytest.mark.parametrize(
    ("x", "y", "advice"),
    [
        ("int32", "int64", "cast(x, 'int64')"),
        ("int64", "int32", "cast(y, 'int64')"),
        ("int32", "float32", "cast(x, 'float32')"),
        ("float32", "int64", "cast(y, 'float32')"),
        ("float32", "float64", "cast(x, 'float64')"),
        ("float64", "float32", "cast(y, 'float64')"),
        ("uint8", "int8", "cast(x, 'int16') and cast(y, 'int16')"),
        ("bfloat16", "float16", "cast(x, 'float32') and cast(y, 'float32')"),
        ("int64", "complex64", "cast(x, 'complex64')"),
        ("float64", "complex64", "cast(x, 'complex128') and cast(y, 'complex128')"),
    ],
)
@pytest.mark.parametrize("op", [tf.add, tf.multiply, tf.truediv])
def test_the_dtype_that_holds_both_is_proposed_and_helps(
    op: object, x: str, y: str, advice: str
) -> None:
    values = {"x": tf.cast(tf.ones([2]), x), "y": tf.cast(tf.ones([2]), y)}
    with pytest.raises((tf.errors.InvalidArgumentError, TypeError)) as caught:
        op(values["x"], values["y"])  # type: ignore[operator]
    text = str(caught.value)
    assert text.endswith(f"Try: {advice}"), text
    for cast in advice.split(" and "):
        values[cast[5]] = eval(cast, {"cast": tf.cast, **values})
    op(values["x"], values["y"])  # type: ignore[operator]


def test_text_beside_numbers_is_not_cast() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="arguments of one dtype, string or"):
        tf.add(tf.constant("a"), tf.constant(1))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Session", r"Try: tf\.compat\.v1\.Session; `pinnace upgrade"),
        ("placeholder", r"Try: tf\.compat\.v1\.placeholder; `pinnace upgrade"),
        ("train.AdamOptimizer", r"tf\.compat\.v1\.train\.AdamOptimizer; `pinnace upgrade"),
        ("get_variable", r"(?s)found by their names in scopes.*tf\.Variable.*`pinnace upgrade"),
        ("ConfigProto", r"(?s)there are no sessions.*`pinnace upgrade"),
        ("summary.FileWriter", r"(?s)run by a session.*tf\.summary.*`pinnace upgrade"),
        ("summary.merge_all", r"(?s)run by a session.*tf\.summary.*`pinnace upgrade"),
        ("keras.layers.CuDNNLSTM", r"Try: tf\.keras\.layers\.LSTM"),
        ("keras.backend.get_session", r"(?s)there are no sessions.*`pinnace upgrade"),
        ("app", "tf.compat.v1.app"),
        ("contrib", "pinnace upgrade"),
        ("addons", r"tf\.keras\.optimizers.*pinnace upgrade"),
        ("hub", r"tf\.saved_model\.load\(folder\)"),
        ("text", "TextVectorization"),
        ("probability", r"tf\.random"),
    ],
)
def test_a_name_of_version_1_or_of_another_package_says_what_to_use(name: str, words: str) -> None:
    found: object = tf
    *spaces, last = name.split(".")
    for space in spaces:
        found = getattr(found, space)
    with pytest.raises(AttributeError, match=words):
        getattr(found, last)
    assert not hasattr(tf, name)


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        (tf, "reduce_summ"),
        (tf.math, "reduce_summ"),
        (tf.math.special, "bessel_j2"),
        (tf.nn.experimental, "stateless_dropuot"),
        (tf.config.experimental, "set_memory_grwth"),
        (tf.io.gfile, "exits"),
        (tf.nest, "maps_structure"),
        (tf.signal, "stff"),
        (tf.summary, "scalr"),
        (tf.feature_column, "numeric_clumn"),
        (tf.keras, "Modle"),
        (tf.keras.layers, "Dens"),
        (tf.keras.utils, "to_categoric"),
    ],
)
def test_a_typo_gets_no_wrong_advice(namespace: object, name: str) -> None:
    with pytest.raises(
        AttributeError, match=rf"^module 'pinnace[\w.]*' has no attribute '{name}'$"
    ):
        getattr(namespace, name)


@pytest.mark.parametrize(
    "address", ["https://host/model/1", "http://x", "gs://bucket/model", "s3://bucket/model/1"]
)
def test_an_address_is_no_folder_and_load_says_what_to_do(address: str) -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r"(?s)nothing is fetched.*fetch it first"):
        tf.saved_model.load(address)


REMINDED = """
import importlib.util
import pinnace.compat.as_tensorflow as stand_in
print(importlib.util.find_spec("tensorflow"))
for name in ("tensorflow", "keras"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        print(error.name, "install()" in str(error))
try:
    import no_such_module
except ModuleNotFoundError as error:
    print(error)
stand_in.install()
import tensorflow
print(tensorflow.__name__)
"""


def test_the_stand_in_that_is_not_installed_says_so() -> None:
    if importlib.util.find_spec("tensorflow") or importlib.util.find_spec("keras"):
        pytest.skip("there is a TensorFlow, which is found first")
    assert run_fresh(REMINDED).split("\n")[:5] == [
        "None",
        "tensorflow True",
        "keras True",
        "No module named 'no_such_module'",
        "tensorflow",
    ]
