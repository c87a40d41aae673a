import numpy as np
import pytest

import pinnace as tf
from pinnace.framework.specs import TensorSpec
from pinnace.serving.web.images import ImageForm, brightness, image_form


@pytest.mark.parametrize(
    ("shape", "dtype", "form"),
    [
        ([None, 28, 28, 1], "float32", ImageForm(28, 28, 1, "pixels")),
        ([1, 32, 48, 3], "uint8", ImageForm(32, 48, 3, "pixels")),
        ([None, None, None, 3], "float32", ImageForm(224, 224, 3, "pixels")),
        ([None, 784], "float32", ImageForm(28, 28, 1, "flat")),
        ([None, 3072], "float64", ImageForm(32, 32, 3, "flat")),
        ([None, 28, 28], "int32", ImageForm(28, 28, 1, "grey")),
        ([None, 16], "float32", None),
        ([None, 785], "float32", None),
        ([None, 28, 28, 2], "float32", None),
        ([None, 28, 28, 1], "string", None),
        ([None, 28, 28, 1], "bool", None),
        ([None, 28, 28, 1], "complex64", None),
        ([5, 28, 28, 1], "float32", None),
        ([None, 20, 30], "float32", None),
        ([None, 5000, 5000, 3], "float32", None),
        ([None, None], "float32", None),
        ([], "float32", None),
        (None, "float32", None),
    ],
)
def test_what_looks_like_an_image(
    shape: list[int | None] | None, dtype: str, form: ImageForm | None
) -> None:
    assert image_form(TensorSpec(shape, dtype)) == form


@pytest.mark.parametrize(
    ("layer", "white"),
    [
        (tf.keras.layers.Rescaling(1 / 255), 255),
        (tf.keras.layers.Rescaling(1 / 127.5, offset=-1), 255),
        (tf.keras.layers.Rescaling(1 / 16), 16),
    ],
)
def test_white_is_what_the_model_scales_to_one(layer: tf.keras.layers.Layer, white: float) -> None:
    @tf.function
    def inner(image: tf.Tensor) -> tf.Tensor:
        return layer(tf.cast(image, tf.float32))

    @tf.function
    def outer(image: tf.Tensor) -> tf.Tensor:
        return inner(image) + 1

    graph = outer.get_concrete_function(tf.TensorSpec([None, 8, 8, 1], tf.uint8, "image")).graph
    ((name, found),) = ((n, brightness(graph, n)) for n in graph.input_names[:1])
    assert name == "image"
    assert found == (0, white)


def test_nothing_is_guessed_where_the_graph_does_not_tell() -> None:
    weights = np.ones([64, 3], np.float32)

    @tf.function
    def model(x: tf.Tensor) -> tf.Tensor:
        return x @ weights * 0.5

    graph = model.get_concrete_function(tf.TensorSpec([None, 64], tf.float32, "x")).graph
    assert brightness(graph, "x") is None
    assert brightness(graph, "y") is None
    assert brightness(None, "x") is None
