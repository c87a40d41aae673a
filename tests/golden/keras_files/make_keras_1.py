# ruff: noqa: E402, I001, NPY002 (what Theano needs is put back first; Keras draws by the old numbers)
"""Models as Keras 1.2.2 writes them, and its predictions.

Keras 1 runs on Theano, whose last fork (theano-pymc 1.1.2) runs on Python 3.11 with numpy 1.23.5,
scipy 1.9.3 and h5py 3.8.0 once `theano_of_today.py` has restored what Python and SciPy have removed
since. From the root of the repository, with the sources of Keras 1.2.2 unpacked:

    export KERAS_BACKEND=theano THEANO_FLAGS=cxx=,floatX=float32,optimizer=None
    export PYTHONPATH=tests/golden/keras_files:FOLDER_OF_KERAS
    python tests/golden/keras_files/make_keras_1.py

A file of Keras 1 does not say which backend wrote it, and Theano's convolutions flip their kernels.
Files are read as TensorFlow's backend read them, so convolutions here do not flip.
"""

import theano_of_today

theano_of_today.go_forwards()

from pathlib import Path
from typing import Any

import numpy as np
from keras.layers import (
    LSTM,
    Activation,
    ActivityRegularization,
    AtrousConvolution2D,
    AveragePooling2D,
    BatchNormalization,
    Bidirectional,
    Convolution1D,
    Convolution2D,
    Cropping2D,
    Deconvolution2D,
    Dense,
    Dropout,
    ELU,
    Embedding,
    Flatten,
    GRU,
    GaussianDropout,
    GaussianNoise,
    GlobalAveragePooling2D,
    GlobalMaxPooling1D,
    Input,
    LeakyReLU,
    LocallyConnected1D,
    Masking,
    MaxPooling1D,
    MaxPooling2D,
    Merge,
    PReLU,
    Permute,
    RepeatVector,
    Reshape,
    SimpleRNN,
    SpatialDropout1D,
    ThresholdedReLU,
    TimeDistributed,
    UpSampling1D,
    UpSampling2D,
    ZeroPadding1D,
    ZeroPadding2D,
    merge,
)
from keras.models import Model, Sequential
from keras.regularizers import l1l2, l2

FOLDER = Path(__file__).parent / "keras_1"


def sequence(*layers: Any) -> Any:
    model = Sequential()
    for layer in layers:
        model.add(layer)
    return model


def dense() -> Any:
    return sequence(
        Dense(6, input_dim=4, activation="relu", W_regularizer=l2(0.01), init="he_normal"),
        BatchNormalization(),
        Dropout(0.2),
        Dense(
            5, b_regularizer=l1l2(0.1, 0.2), activity_regularizer=l2(0.5), W_constraint="maxnorm"
        ),
        PReLU(),
        GaussianNoise(0.1),
        Dense(5, bias=False, init="lecun_uniform"),
        LeakyReLU(0.2),
        GaussianDropout(0.1),
        Dense(4, activation="hard_sigmoid"),
        ELU(0.5),
        ThresholdedReLU(0.1),
        ActivityRegularization(0.1, 0.2),
        Dense(3),
        Activation("softmax"),
    )


def pictures(order: str) -> Any:
    shape = (8, 9, 2) if order == "tf" else (2, 8, 9)
    options = {"dim_ordering": order}
    return sequence(
        Convolution2D(3, 3, 3, input_shape=shape, border_mode="same", activation="relu", **options),
        BatchNormalization(axis=3 if order == "tf" else 1),
        ZeroPadding2D((1, 2), **options),
        Convolution2D(4, 3, 2, subsample=(2, 1), bias=False, **options),
        MaxPooling2D((2, 2), strides=(1, 1), **options),
        UpSampling2D((2, 1), **options),
        Cropping2D(((1, 0), (0, 1)), **options),
        AtrousConvolution2D(3, 2, 2, atrous_rate=(2, 2), **options),
        AveragePooling2D((2, 2), **options),
        Flatten(),
        Dense(2),
    )


def widened() -> Any:
    return sequence(
        Deconvolution2D(3, 3, 3, (None, 12, 12, 3), input_shape=(10, 10, 2), dim_ordering="tf"),
        GlobalAveragePooling2D(dim_ordering="tf"),
        Dense(2),
    )


def texts() -> Any:
    return sequence(
        Embedding(9, 5, input_length=6, mask_zero=True),
        LSTM(4, return_sequences=True, dropout_W=0.1, dropout_U=0.2),
        TimeDistributed(Dense(3, activation="tanh")),
        Activation("softmax"),
    )


def recurrent() -> Any:
    return sequence(
        Masking(0.0, input_shape=(6, 4)),
        GRU(3, return_sequences=True),
        LSTM(4, return_sequences=True, consume_less="gpu", forget_bias_init="zero"),
        GRU(3, return_sequences=True, consume_less="gpu", inner_activation="sigmoid"),
        Bidirectional(LSTM(3, return_sequences=True), merge_mode="concat"),
        Bidirectional(GRU(2, return_sequences=True), merge_mode="sum"),
        SimpleRNN(3, go_backwards=True),
        RepeatVector(2),
        LSTM(2, unroll=True),
    )


def waves() -> Any:
    return sequence(
        Convolution1D(4, 3, input_shape=(12, 2), border_mode="same", activation="relu"),
        SpatialDropout1D(0.1),
        Convolution1D(3, 3, subsample_length=2),
        UpSampling1D(2),
        ZeroPadding1D(1),
        MaxPooling1D(2),
        LocallyConnected1D(3, 2),
        Permute((2, 1)),
        Reshape((-1, 3)),
        GlobalMaxPooling1D(),
    )


def merges() -> Any:
    x = Input((4,))
    first, second = Dense(3, name="first")(x), Dense(3, name="second")(x)
    pair = [first, second]
    found = [merge(pair, mode=mode) for mode in ("sum", "mul", "ave", "max", "concat")]
    found.append(merge([first, second], mode="dot", dot_axes=1))
    found.append(merge([first, second], mode="dot"))
    rows = Reshape((3, 1))(first)
    found.append(Flatten()(merge([rows, Reshape((3, 1))(second)], mode="concat", concat_axis=2)))
    found.append(Flatten()(merge([rows, rows], mode="cos", dot_axes=1)))
    return Model(input=x, output=merge([*found, second], mode="concat", concat_axis=-1))


def branches() -> Any:
    left = sequence(Dense(3, input_dim=4, activation="tanh"), Dense(2))
    right = sequence(Dense(2, input_dim=4))
    return sequence(Merge([left, right], mode="concat"), Dense(3), Dense(1))


def nested() -> Any:
    shared = Dense(4, activation="tanh")
    inner = sequence(Dense(4, input_dim=4), BatchNormalization(), Dense(4))
    x = Input((4,))
    given = Input((4,))
    model = Model(input=given, output=[Dense(3)(given), Dense(4)(given)])
    small, large = model(shared(inner(shared(x))))
    frozen = Dense(3, trainable=False)
    return Model(input=x, output=[frozen(small), large])


def model_each_step() -> Any:
    inner = sequence(
        Convolution2D(2, 3, 3, input_shape=(5, 5, 1), dim_ordering="tf"), Flatten(), Dense(3)
    )
    return sequence(TimeDistributed(inner, input_shape=(3, 5, 5, 1)), LSTM(2))


MODELS = {
    "dense": dense,
    "pictures": lambda: pictures("tf"),
    "pictures_first": lambda: pictures("th"),
    "widened": widened,
    "sentences": texts,
    "recurrent": recurrent,
    "waves": waves,
    "merges": merges,
    "branches": branches,
    "nested": nested,
    "each_step": model_each_step,
}
TRAINED = ("dense", "sentences", "nested")


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        np.random.seed(3)
        model = make()
        rng = np.random.RandomState(0)
        model.set_weights([w + 0.1 * abs(rng.randn(*w.shape)) for w in model.get_weights()])
        shapes = [(3, *tensor._keras_shape[1:]) for tensor in model.inputs]
        if name == "sentences":
            inputs = [rng.randint(0, 9, (3, 6)).astype("float32")]
        else:
            inputs = [rng.randn(*shape).astype("float32") for shape in shapes]
        if name == "recurrent":
            inputs[0][1, :2] = 0
        if name in TRAINED:
            model.compile("adam" if name != "nested" else "sgd", "mse", metrics=["mae"])
            targets = model.predict(inputs)
            targets = targets if isinstance(targets, list) else [targets]
            model.train_on_batch(inputs, [t + 0.1 for t in targets])
        model.save(str(FOLDER / f"{name}.h5"))
        if name in {"recurrent", "pictures_first"}:
            model.save_weights(str(FOLDER / f"{name}.weights.h5"))
        outputs = model.predict(inputs)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        arrays = {f"x{i}": x for i, x in enumerate(inputs)}
        arrays.update({f"y{i}": y for i, y in enumerate(outputs)})
        np.savez_compressed(FOLDER / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main()
