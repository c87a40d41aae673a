"""Models of Keras 2 whose files differ from those of Keras 3."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from support.keras_models import OLDER, case

if TYPE_CHECKING:
    from collections.abc import Callable


def _coder(keras: Any, words: Any, kind: str, **options: Any) -> Any:
    """The final states of a recurrent layer."""
    return getattr(keras.layers, kind)(5, return_state=True, **options)(words)[1:]


def _masked(keras: Any, name: str) -> tuple[Any, Any]:
    words = keras.Input([7], dtype="int32", name=name)
    return words, keras.layers.Embedding(7, 4, mask_zero=True)(words)


@case(OLDER, inputs=(("int32", 7), ("int32", 7)))
def masked_coder(keras: Any) -> Any:
    """An encoder and a decoder of two layers, after embeddings with masks."""
    source, x = _masked(keras, "source")
    target, y = _masked(keras, "target")
    states = _coder(keras, x, "LSTM")
    y = keras.layers.LSTM(5, return_sequences=True)(y, initial_state=states)
    y = keras.layers.Dropout(0.0)(y)
    y, *_ = keras.layers.LSTM(5, return_sequences=True, return_state=True)(y, initial_state=states)
    model = keras.Model([source, target], keras.layers.Dense(7, activation="softmax")(y))
    model.compile("adam", "mse")
    return model


@case(OLDER, inputs=(("int32", 7), ("int32", 7)))
def masked_gru(keras: Any) -> Any:
    """A single state, not in a list, a mask passed through sums, and only the last output."""
    source, x = _masked(keras, "source")
    target, y = _masked(keras, "target")
    (state,) = _coder(keras, x, "GRU")
    y = keras.layers.Add()([y, keras.layers.Dense(4)(x)])
    y = keras.layers.GRU(5)(y, initial_state=state)
    model = keras.Model([source, target], keras.layers.Dense(1)(y))
    model.compile("sgd", "mse")
    return model


@case(OLDER, inputs=((7, 3), (5,)))
def masking_simple(keras: Any) -> Any:
    """Steps that the layer before them masks; states from a dense layer."""
    x = keras.Input([7, 3], name="x")
    state = keras.Input([5], name="state")
    y = keras.layers.Masking(0.0)(keras.layers.ReLU(threshold=1.0)(x))
    y = keras.layers.SimpleRNN(5, return_sequences=True, go_backwards=True)(
        y, initial_state=keras.layers.Dense(5)(state)
    )
    model = keras.Model([x, state], keras.layers.GlobalAveragePooling1D()(y))
    model.compile("sgd", "mse")
    return model


@case(OLDER, inputs=(("int32", 7), ("int32", 7)))
def masked_both_ways(keras: Any) -> Any:
    """Bidirectional coders: four states."""
    source, x = _masked(keras, "source")
    target, y = _masked(keras, "target")
    both = keras.layers.Bidirectional(keras.layers.LSTM(5, return_state=True))
    y = keras.layers.Bidirectional(keras.layers.LSTM(5, return_sequences=True))(
        y, initial_state=both(x)[1:]
    )
    model = keras.Model([source, target], keras.layers.Dense(1)(y))
    model.compile("sgd", "mse")
    return model


@case(OLDER, inputs=(("int32", 7),))
def masked_inside(keras: Any) -> Any:
    """A decoder that is a nested model, and stacked cells."""
    words, x = _masked(keras, "words")
    inner_in, inner = _masked(keras, "inner")
    first = keras.Input([5], name="first")
    second = keras.Input([5], name="second")
    cells = [keras.layers.GRUCell(5), keras.layers.GRUCell(5)]
    inner = keras.layers.RNN(cells, return_sequences=True)(inner, initial_state=[first, second])
    decoder = keras.Model([inner_in, first, second], inner, name="decoder")
    (state,) = _coder(keras, x, "GRU")
    model = keras.Model(words, keras.layers.Dense(1)(decoder([words, state, state])))
    model.compile("sgd", "mse")
    return model


@case(OLDER, inputs=(("int32", 7), ("int32", 7), (7, 4)))
def masked_merges(keras: Any) -> Any:
    """Layers that merge two masks, or a mask and none: steps valid in all of them are valid."""
    layers = keras.layers
    first, x = _masked(keras, "first")
    second, y = _masked(keras, "second")
    z = keras.Input([7, 4], name="third")
    outputs = []
    for kind in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"):
        for one, other in ((x, y), (x, z), (z, y)):
            merged = getattr(layers, kind)()([one, other])
            outputs.append(layers.GlobalAveragePooling1D()(merged))
    joined = layers.GlobalAveragePooling1D()(layers.Concatenate(axis=1)([x, y]))
    model = keras.Model(
        [first, second, z], layers.Dense(2)(layers.Concatenate()([*outputs, joined]))
    )
    model.compile("sgd", "mse")
    return model


@case(OLDER, inputs=((7, 3),))
def backwards_first(keras: Any) -> Any:
    """A bidirectional layer whose forward half starts with the last step."""
    layers = keras.layers
    inner = layers.GRU(4, go_backwards=True, return_sequences=True)
    model = keras.Sequential([keras.Input([7, 3]), layers.Bidirectional(inner), layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


@case(OLDER, inputs=((7, 3), (6, 5, 2)))
def locally_connected(keras: Any) -> Any:
    """A separate kernel at each position, in each of the three implementations."""
    layers = keras.layers
    x, pictures = keras.Input([7, 3], name="x"), keras.Input([6, 5, 2], name="pictures")
    outputs = []
    for way, padding in ((1, "valid"), (2, "same"), (3, "same"), (3, "valid")):
        options = {"padding": padding, "implementation": way, "bias_initializer": "random_normal"}
        one = layers.LocallyConnected1D(4, 3, strides=2, activation="tanh", **options)(x)
        two = layers.LocallyConnected2D(3, (2, 3), strides=(1, 2), **options)(pictures)
        outputs += [layers.Flatten()(one), layers.Flatten()(two)]
    first = layers.Permute((3, 1, 2))(pictures)
    options = {"data_format": "channels_first", "bias_initializer": "random_normal"}
    outputs.append(layers.Flatten()(layers.LocallyConnected2D(3, 2, **options)(first)))
    model = keras.Model([x, pictures], layers.Dense(2)(layers.Concatenate()(outputs)))
    model.compile("adam", "mse")
    return model


def _nested(keras: Any, choose: random.Random, depth: int = 0) -> Any:
    """A model of layers and models with equal input and output sizes, some of them frozen."""
    layers = keras.layers
    makers: list[Callable[[], Any]] = [
        *[lambda: layers.Dense(4, activation="tanh", bias_initializer="random_normal")] * 3,
        lambda: layers.BatchNormalization(gamma_initializer="random_normal"),
        lambda: layers.LayerNormalization(beta_initializer="random_normal"),
        *[lambda: _nested(keras, choose, depth + 1)] * (2 if depth < 3 else 0),
    ]
    parts = [choose.choice(makers)() for _ in range(choose.randint(2, 4))]
    for part in parts:
        part.trainable = choose.random() < 0.6
    if choose.random() < 0.4:
        model = keras.Sequential([keras.Input([4]), *parts])
    else:
        x = given = keras.Input([4])
        for part in parts:
            x = part(x)
        if choose.random() < 0.5:  # the same weights again
            x = layers.Add()([parts[0](x), x])
        model = keras.Model(given, x)
    if choose.random() < 0.3:
        model.trainable = False
    return model


def _case_of_nested(seed: int) -> None:
    def make(keras: Any) -> Any:
        model = _nested(keras, random.Random(seed))
        model.trainable = True  # all of it
        for layer in model.layers:
            layer.trainable = random.Random(f"{seed} {layer.name}").random() < 0.5
        model = keras.Sequential([keras.Input([4]), model, keras.layers.Dense(2)])
        # Not Adam, which turns rounding errors of biases before a normalization into steps.
        model.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
        return model

    make.__name__ = f"nested_{seed}"
    case(OLDER)(make)


for _seed in (1, 3, 5, 7, 9, 11):
    _case_of_nested(_seed)
