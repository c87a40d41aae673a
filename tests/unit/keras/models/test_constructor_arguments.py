"""A model whose class has no `get_config` is restored with its constructor's arguments."""

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import layers

X = np.array([[1, -2, 3], [0.5, 1, -1]], "float32")


class Inner(keras.Model):
    """A model with one layer, `self.inner`, which the constructors below create."""

    def call(self, x):
        return self.inner(x)


class Needed(Inner):
    def __init__(self, units, activation="relu", **options):
        super().__init__(**options)
        self.inner = layers.Dense(units, activation=activation)


class Closed(Inner):
    """Its constructor takes no name."""

    def __init__(self, units=2, *, activation="relu"):
        super().__init__()
        self.inner = layers.Dense(units, activation=activation)


class Named(Inner):
    def __init__(self, units, name=None):
        super().__init__(name=name)
        self.inner = layers.Dense(units)


class Given(Inner):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner


class Stacked(Inner):
    def __init__(self, sizes):
        super().__init__()
        self.inner = keras.Sequential([layers.Dense(size, activation="tanh") for size in sizes])


class Told(Inner):
    def __init__(self, options, table=None):
        super().__init__()
        self.inner = layers.Dense(options["units"])
        self.table = table


class Graph(keras.Model):
    def __init__(self, units):
        given = keras.Input((3,))
        super().__init__(given, layers.Dense(units, activation="tanh")(given))


class Many(Inner):
    def __init__(self, *sizes):
        super().__init__()
        self.inner = keras.Sequential([layers.Dense(size) for size in sizes])


class Anything(Inner):
    def __init__(self, thing):
        super().__init__()
        self.inner = layers.Dense(2)
        self.thing = thing


class ClosedLayer(keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.inner = layers.Dense(units, activation="tanh")

    def call(self, x):
        return self.inner(x)


CLASSES = {
    kind.__name__: kind
    for kind in (
        *(Needed, Closed, Named, Given, Stacked, Told, Graph, Many, Anything, ClosedLayer),
    )
}
MAKERS = {
    "by position": lambda: Needed(4, "tanh"),
    "by name": lambda: Needed(units=4, activation="tanh"),
    "a named model": lambda: Needed(4, name="other"),
    "another default": lambda: Closed(activation="tanh"),
    "no options": lambda: Closed(5),
    "a name alone": lambda: Named(4, "other"),
    "a layer": lambda: Given(layers.Dense(4, activation="tanh")),
    "a model": lambda: Given(Needed(4, "tanh")),
    "a list": lambda: Stacked([4, 2]),
    "a tuple": lambda: Stacked((4, 2)),
    "a dict and an array": lambda: Told({"units": 4}, np.arange(3.0)),
    "an activation": lambda: Needed(4, keras.activations.tanh),
    "an activation layer": lambda: Needed(4, layers.ReLU()),
    "a graph": lambda: Graph(4),
    "a layer without options": lambda: keras.Sequential([keras.Input((3,)), ClosedLayer(4)]),
}


def around(model, place):
    """The model itself, or one that contains it."""
    if place == "sequential":
        return keras.Sequential([keras.Input((3,)), model])
    if place == "functional":
        given = keras.Input((3,))
        return keras.Model(given, model(given))
    return model


@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize("place", ["itself", "sequential", "functional"])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_file_gives_the_model_that_was_saved(tmp_path, maker, place, ending):
    inner = MAKERS[maker]()
    model = around(inner, place)
    expected = model(X)
    path = tmp_path / f"m{ending}"
    model.save(path)
    again = keras.models.load_model(path, custom_objects=CLASSES)
    np.testing.assert_allclose(again(X), expected, rtol=1e-6)
    assert again.name == model.name
    assert len(again.weights) == len(model.weights)


def test_what_the_constructor_does_not_take_comes_back_too(tmp_path):
    model = Closed(4)
    model.trainable = False
    model(X)
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras", custom_objects=CLASSES)
    assert again.trainable is False
    assert again.trainable_weights == []
    assert again.name == model.name
    half = Closed.from_config({**model.get_config(), "dtype": "mixed_float16"})
    assert half.dtype_policy.name == "mixed_float16"


@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize("place", ["itself", "sequential", "functional"])
@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Anything(object()), "'thing'"),
        (lambda: Anything({1: object()}), "'thing'"),
        (lambda: Needed(4, lambda x: x * 3), "'activation'"),
        (lambda: Many(4, 2), r"\*sizes"),
    ],
)
def test_what_cannot_be_kept_is_refused_when_it_is_saved(tmp_path, make, argument, place, ending):
    model = around(make(), place)
    model(X)
    path = tmp_path / f"m{ending}"
    with pytest.raises(NotImplementedError, match=rf"(?s){argument}.*Try: define get_config"):
        model.save(path)
    assert not path.exists()
    model.save(tmp_path / "folder")  # a SavedModel has no constructor arguments
    model.save_weights(tmp_path / "m.weights.h5")


def test_copies_have_the_arguments():
    model = Needed(4, "tanh")
    model(X)
    copy = keras.models.clone_model(model)
    copy(X)
    copy.set_weights(model.get_weights())
    np.testing.assert_allclose(copy(X), model(X), rtol=1e-6)
    assert keras.models.model_from_json(model.to_json(), CLASSES)(X).shape == (2, 4)


def test_checkpoints_of_whole_models_can_be_read(tmp_path):
    model = Needed(3, "tanh")
    model.compile("sgd", "mse")
    keep = keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras")
    model.fit(X, X, epochs=2, callbacks=[keep], verbose=0)
    again = keras.models.load_model(tmp_path / "2.keras", custom_objects=CLASSES)
    np.testing.assert_allclose(again(X), model(X), rtol=1e-6)
