# ruff: noqa: I001, N812, NPY002 (what Theano needs is put back first; Keras draws by the old numbers)
"""Models as Keras 2.0 to 2.3 write them on Theano, whose convolutions flip their kernels.

Run it like `make_keras_1.py`, with the sources of Keras 2.0.9, 2.1.6, 2.2.4 or 2.3.1 (and
keras_applications 1.0.8 and keras_preprocessing 1.1.2 for the last two):

    python tests/golden/keras_files/make_keras_2_0.py
"""

import theano_of_today  # noqa: F401

from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers as L
from keras.models import Model, Sequential

FOLDER = Path(__file__).parent / ("keras_" + "_".join(keras.__version__.split(".")[:2]))


def sequence(*layers: Any) -> Any:
    model = Sequential()
    for layer in layers:
        model.add(layer)
    return model


def dense() -> Any:
    return sequence(
        L.Dense(6, input_dim=4, activation="relu", kernel_regularizer=keras.regularizers.l2(0.01)),
        L.BatchNormalization(),
        L.Dropout(0.2),
        L.Dense(5, kernel_constraint="max_norm", activation="hard_sigmoid"),
        L.PReLU(),
        L.LeakyReLU(0.2),
        L.Dense(3, activation="softmax"),
    )


def pictures(form: str) -> Any:
    options = {"data_format": form}
    is_last = form == "channels_last"
    return sequence(
        L.Conv2D(3, 3, input_shape=(8, 9, 2) if is_last else (2, 8, 9), padding="same", **options),
        L.BatchNormalization(axis=3 if is_last else 1),
        L.ZeroPadding2D((1, 2), **options),
        L.Conv2D(4, (3, 2), strides=(2, 1), use_bias=False, **options),
        L.MaxPooling2D(2, strides=1, **options),
        L.Conv2DTranspose(3, 3, **options),
        L.Flatten(),
        L.Dense(2),
    )


def recurrent() -> Any:
    return sequence(
        L.Masking(0.0, input_shape=(6, 4)),
        L.GRU(3, return_sequences=True),
        L.LSTM(4, return_sequences=True, implementation=2, unit_forget_bias=False),
        L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="concat"),
        L.Bidirectional(L.GRU(2, return_sequences=True), merge_mode="sum"),
        L.SimpleRNN(3, go_backwards=True),
    )


def texts() -> Any:
    return sequence(
        L.Embedding(9, 5, input_length=6, mask_zero=True),
        L.LSTM(4, return_sequences=True, dropout=0.1, recurrent_dropout=0.2),
        L.TimeDistributed(L.Dense(3, activation="tanh")),
        L.Activation("softmax"),
    )


def coder() -> Any:
    x, y = L.Input((5, 3)), L.Input((4, 3))
    _, h, c = L.LSTM(4, return_state=True)(x)
    rows = L.LSTM(4, return_sequences=True)(y, initial_state=[h, c])
    return Model([x, y], L.Dense(2)(rows))


def waves() -> Any:
    return sequence(
        L.Conv1D(4, 3, input_shape=(12, 2), padding="same", activation="relu"),
        L.Conv1D(3, 3, dilation_rate=2),
        L.MaxPooling1D(2),
        L.LocallyConnected1D(3, 2),
        L.Permute((2, 1)),
        L.Reshape((-1, 3)),
        L.GlobalMaxPooling1D(),
    )


def films() -> Any:
    return sequence(
        L.ConvLSTM2D(2, 3, input_shape=(3, 5, 5, 1), data_format="channels_last"),
        L.Flatten(),
        L.Dense(2),
    )


def nested() -> Any:
    shared = L.Dense(4, activation="tanh")
    inner = sequence(L.Dense(4, input_dim=4), L.BatchNormalization(), L.Dense(4))
    x, given = L.Input((4,)), L.Input((4,))
    model = Model(given, [L.Dense(3)(given), L.Dense(4)(given)])
    small, large = model(shared(inner(shared(x))))
    frozen = L.Dense(3, trainable=False)
    total = L.Dot(1)([small, L.Multiply()([small, small])])
    return Model(x, [frozen(small), L.Concatenate()([large, total])])


MODELS = {
    "dense": dense,
    "pictures": lambda: pictures("channels_last"),
    "pictures_first": lambda: pictures("channels_first"),
    "recurrent": recurrent,
    "sentences": texts,
    "coder": coder,
    "waves": waves,
    "films": films,
    "nested": nested,
}
TRAINED = ("dense", "sentences")


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        np.random.seed(3)
        model = make()
        rng = np.random.RandomState(0)
        model.set_weights([w + 0.1 * abs(rng.randn(*w.shape)) for w in model.get_weights()])
        if name == "sentences":
            inputs = [rng.randint(0, 9, (3, 6)).astype("float32")]
        else:
            inputs = [rng.randn(3, *t._keras_shape[1:]).astype("float32") for t in model.inputs]
        if name == "recurrent":
            inputs[0][1, :2] = 0
        if name in TRAINED:
            model.compile("adam", "mse", metrics=["mae"])
            model.train_on_batch(inputs, model.predict(inputs) + 0.1)
        model.save(str(FOLDER / f"{name}.h5"))
        outputs = model.predict(inputs)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        arrays = {f"x{i}": x for i, x in enumerate(inputs)}
        arrays.update({f"y{i}": y for i, y in enumerate(outputs)})
        np.savez_compressed(FOLDER / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main()
