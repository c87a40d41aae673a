"""Class attributes of a layer take effect, as in Keras: no constructor overwrites them."""

import warnings

import numpy as np
import pytest

from pinnace import keras
from pinnace.keras import Layer, layers

X = np.ones((2, 3), "float32")


def plain(_self, x):
    return x * 1.0


class Scale(Layer):
    """x * k."""

    def build(self, input_shape):
        self.k = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="k")

    def call(self, x):
        return x * self.k


class Masking:
    supports_masking = True


class HandsOn:
    def compute_mask(self, _inputs, previous_mask=None):
        return previous_mask


def own(*bases, **body):
    return type("Own", bases or (Layer,), {"call": plain, **body})


def of_width(kind, **body):
    return type("Own", (kind,), {"__init__": lambda self: kind.__init__(self, 3, 1), **body})


MASKS = {
    "said": (own(supports_masking=True), True),
    "denied": (own(supports_masking=False), False),
    "not said": (own(), False),
    "computed": (own(compute_mask=lambda _self, _inputs, mask=None: mask), True),
    "computed and denied": (
        own(compute_mask=lambda _self, _inputs, mask=None: mask, supports_masking=False),
        False,
    ),
    "mixed in": (own(Masking, Layer), True),
    "computed by what is mixed in": (own(HandsOn, Layer), True),
    "a property": (own(supports_masking=property(lambda _self: True)), True),
    "inherited": (type("Child", (own(supports_masking=True),), {}), True),
    "taken back": (
        type("Child", (own(supports_masking=True),), {"supports_masking": False}),
        False,
    ),
    "of a convolution": (of_width(layers.Conv1D, supports_masking=True), True),
    "of a model": (own(keras.Model, supports_masking=True), True),
    "set by the constructor": (
        own(
            __init__=lambda self: (Layer.__init__(self), setattr(self, "supports_masking", True))[0]
        ),
        True,
    ),
}


@pytest.mark.parametrize("form", MASKS)
def test_masks_pass_a_layer_that_says_so(form):
    kind, passes = MASKS[form]
    given = keras.Input((None,), dtype="int32")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mask ends here
        inside = kind()(layers.Embedding(8, 4, mask_zero=True)(given))
        mean = keras.Model(given, layers.GlobalAveragePooling1D()(inside))
        long, short = mean(np.array([[3, 1, 0, 0]])), mean(np.array([[3, 1]]))
    assert np.allclose(long, short) is passes


FROZEN = {
    "said": type("Own", (Scale,), {"trainable": False}),
    "inherited": type("Child", (type("Own", (Scale,), {"trainable": False}),), {}),
    "mixed in": type("Own", (type("Mixin", (), {"trainable": False}), Scale), {}),
    "a property": type("Own", (Scale,), {"trainable": property(lambda _self: False)}),
    "of a batch normalization": type("Own", (layers.BatchNormalization,), {"trainable": False}),
    "of a cell": lambda: layers.RNN(
        type(
            "Cell",
            (Scale,),
            {
                "trainable": False,
                "state_size": 3,
                "call": lambda self, x, states: (x * self.k + states[0], [x]),
            },
        )()
    ),
}


@pytest.mark.parametrize("form", FROZEN)
def test_frozen_weights_are_not_trained(form):
    layer = FROZEN[form]()
    x = np.ones((2, 4, 3) if form == "of a cell" else (2, 3), "float32")
    model = keras.Sequential([keras.Input(x.shape[1:]), layer, layers.Dense(3)])
    model.compile("sgd", "mse")
    before = layer.get_weights()
    model.fit(x, X * 7, epochs=2, verbose=0)
    for old, new in zip(before, layer.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    assert layer.trainable_weights == []
    assert len(model.trainable_weights) == 2
    assert len(layer.non_trainable_weights) == len(before) > 0


def test_a_frozen_class_counts_more_than_the_argument_and_less_than_what_is_set_later():
    kind = type("Own", (Scale,), {"trainable": False})
    layer = kind(trainable=True)
    layer(X)
    assert layer.trainable is False
    assert layer.get_config()["trainable"] is False
    layer.trainable = True
    assert len(layer.trainable_weights) == 1
    assert kind().trainable is False


def test_a_frozen_model_has_nothing_to_train():
    class Frozen(keras.Model):
        trainable = False

        def __init__(self):
            super().__init__()
            self.inner = layers.Dense(2)

        def call(self, x):
            return self.inner(x)

    model = Frozen()
    model(X)
    assert model.trainable_weights == []
    assert len(model.inner.trainable_weights) == 2


RANKS = {
    "ndim": (layers.InputSpec(ndim=3), [3]),
    "min_ndim": (layers.InputSpec(min_ndim=3), [3, 4]),
    "a list": ([layers.InputSpec(ndim=2)], [2]),
    "a shape": (layers.InputSpec(shape=(None, 3)), [2]),
    "axes": (layers.InputSpec(axes={-1: 4}), [3]),
    "a property": (property(lambda _self: layers.InputSpec(ndim=3)), [3]),
    "none": (None, [1, 2, 3, 4]),
}


@pytest.mark.parametrize("base", [Layer, keras.Model])
@pytest.mark.parametrize("form", RANKS)
def test_inputs_of_another_rank_are_refused(base, form):
    spec, fits = RANKS[form]
    taken = []
    for rank in (1, 2, 3, 4):
        layer = type("Child", (own(base, input_spec=spec),), {})()
        try:
            layer(np.ones((2, 3, 4, 5)[:rank], "float32"))
        except ValueError:
            continue
        taken.append(rank)
    assert taken == fits


def test_a_name_in_the_class_is_no_layers():
    kind = own(name="mine")
    given = keras.Input((3,))
    model = keras.Model(given, kind()(kind()(given)))
    assert len({layer.name for layer in model.layers}) == 3
    assert kind(name="other").name == "other"
    assert kind.name == "mine"


def test_the_dtype_of_weights_may_be_said_in_the_class():
    layer = type("Own", (Scale,), {"variable_dtype": "float16"})()
    layer(X)
    assert layer.k.dtype == "float16"


def test_weights_of_a_frozen_class_come_back_frozen(tmp_path):
    kind = type("Own", (Scale,), {"trainable": False, "supports_masking": True})
    model = keras.Sequential([keras.Input((3,)), kind()])
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras", custom_objects={"Own": kind})
    assert again.trainable_weights == []
    np.testing.assert_array_equal(again(X), model(X))
