"""Keras 3: `tf.saved_model.save` and `model.export` of its models, with masks and lookups."""

from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from casebook import case, integers, numbers, served, texts


def words_model(width: int = 3, *, bidirectional: bool = False) -> Any:
    x = keras.Input((None,), dtype="int64", name="words")
    y = keras.layers.Embedding(9, width, mask_zero=True)(x)
    cell: Any = keras.layers.LSTM(2, return_sequences=True)
    y = keras.layers.Bidirectional(cell)(y) if bidirectional else cell(y)
    return keras.Model(x, keras.layers.GlobalAveragePooling1D()(y))


@case("masks")
def masked_recurrent(folder: Path) -> Any:
    tf.saved_model.save(words_model(), str(folder))
    return served(folder, integers(9, 3, 5))


@case("masks")
def masked_bidirectional(folder: Path) -> Any:
    tf.saved_model.save(words_model(bidirectional=True), str(folder))
    return served(folder, integers(9, 3, 5))


@case("masks")
def masked_attention(folder: Path) -> Any:
    x = keras.Input((6,), dtype="int32", name="words")
    y = keras.layers.Embedding(9, 4, mask_zero=True)(x)
    y = keras.layers.MultiHeadAttention(2, 2)(y, y)
    tf.saved_model.save(keras.Model(x, y), str(folder))
    return served(folder, integers(9, 2, 6).astype("int32"))


@case("masks")
def masked_exported(folder: Path) -> Any:
    words_model(4).export(str(folder), verbose=False)
    return served(folder, integers(9, 3, 5))


@case("masks")
def masking_layer(folder: Path) -> Any:
    model = keras.Sequential(
        [keras.Input((4, 2)), keras.layers.Masking(), keras.layers.GRU(3), keras.layers.Dense(1)]
    )
    tf.saved_model.save(model, str(folder))
    x = numbers(3, 4, 2)
    x[1, 2:] = 0
    return served(folder, x)


@case("keras3 saved")
def dense(folder: Path) -> Any:
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, "relu"), keras.layers.Dense(2, "softmax")]
    )
    model.compile("adam", "mse")
    model.train_on_batch(numbers(5, 3), numbers(5, 2))
    tf.saved_model.save(model, str(folder))
    return served(folder, numbers(4, 3))


@case("keras3 saved")
def convolution(folder: Path) -> Any:
    x = keras.Input((6, 6, 2), name="image")
    y = keras.layers.Conv2D(3, 3, padding="same")(x)
    y = keras.layers.BatchNormalization()(y)
    y = keras.layers.Add()([y, keras.layers.Conv2D(3, 1)(x)])
    y = keras.layers.MaxPooling2D()(y)
    model = keras.Model(x, {"mean": keras.layers.GlobalAveragePooling2D()(y), "map": y})
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss={"mean": "mse", "map": "mse"})
    tf.saved_model.save(model, str(folder))
    return served(folder, numbers(2, 6, 6, 2))


@case("custom layers")
def keras3_custom(folder: Path) -> Any:
    class Scale(keras.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [keras.layers.Dense(2), None, keras.layers.Dense(2)]
            self.named = {"offset": keras.layers.Dense(2), "nothing": None, "size": 3}
            self.pair = (keras.layers.Dense(2), 4)

        def call(self, x: Any) -> Any:
            for part in (self.parts[0], self.parts[2], self.named["offset"], self.pair[0]):
                x = part(x)
            return x

    x = keras.Input((2,), name="x")
    model = keras.Model(x, Scale()(x))
    tf.saved_model.save(model, str(folder))
    return served(folder, numbers(3, 2))


@case("preprocessing")
def string_lookup(folder: Path) -> Any:
    x = keras.Input((1,), dtype="string", name="colour")
    y = keras.layers.StringLookup(vocabulary=["red", "green", "blue"])(x)
    keras.Model(x, keras.layers.Embedding(4, 2)(y)).export(str(folder), verbose=False)
    return served(folder, texts("red", "none", "blue").reshape(3, 1))


@case("preprocessing")
def string_lookup_saved(folder: Path) -> Any:
    x = keras.Input((2,), dtype="string", name="words")
    layer = keras.layers.StringLookup(num_oov_indices=2, output_mode="multi_hot")
    layer.adapt(texts("a", "b", "c", "b"))
    model = keras.Model(x, keras.layers.Dense(2)(layer(x)))
    tf.saved_model.save(model, str(folder))
    return served(folder, texts("a", "z", "c", "b").reshape(2, 2))


@case("preprocessing")
def text_vectorization(folder: Path) -> Any:
    layer = keras.layers.TextVectorization(20, output_sequence_length=5)
    layer.adapt(texts("the cat sat", "the dog, too!", "a cat"))
    model = keras.Sequential(
        [keras.Input((), dtype="string"), layer, keras.layers.Embedding(20, 2)]
    )
    model.export(str(folder), verbose=False)
    return served(folder, texts("the cat and the dog", "A! dog"))


@case("preprocessing")
def text_vectorization_saved(folder: Path) -> Any:
    layer = keras.layers.TextVectorization(ngrams=2, output_mode="count")
    layer.adapt(texts("one two three", "two three four", "one"))
    model = keras.Sequential([keras.Input((), dtype="string"), layer, keras.layers.Dense(2)])
    tf.saved_model.save(model, str(folder))
    return served(folder, texts("one two three", "four one two"))


@case("preprocessing")
def mixed_columns(folder: Path) -> Any:
    age = keras.Input((1,), name="age")
    code = keras.Input((1,), dtype="int64", name="code")
    name = keras.Input((1,), dtype="string", name="name")
    scaled = keras.layers.Normalization()
    scaled.adapt(numbers(9, 1))
    parts = [
        scaled(age),
        keras.layers.Discretization([-1.0, 0.0, 1.0], output_mode="one_hot")(age),
        keras.layers.IntegerLookup(vocabulary=[3, 5, 9], output_mode="one_hot")(code),
        keras.layers.Hashing(6, output_mode="one_hot")(name),
    ]
    model = keras.Model([age, code, name], keras.layers.Concatenate()(parts))
    model.export(str(folder), verbose=False)
    feeds = {
        "age": numbers(3, 1),
        "code": integers(10, 3, 1),
        "name": texts("ann", "bo", "cy").reshape(3, 1),
    }
    return [("serving_default", feeds)]


@case("preprocessing")
def image_steps(folder: Path) -> Any:
    x = keras.Input((8, 8, 3), name="image")
    y = keras.layers.Resizing(6, 6)(x)
    y = keras.layers.Rescaling(1 / 255)(y)
    y = keras.layers.CenterCrop(4, 4)(y)
    y = keras.layers.RandomFlip()(y)
    keras.Model(x, keras.layers.Conv2D(2, 3)(y)).export(str(folder), verbose=False)
    return served(folder, numbers(2, 8, 8, 3) * 100)


@case("exported")
def several_endpoints(folder: Path) -> Any:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    archive = keras.export.ExportArchive()
    archive.track(model)
    spec = [keras.InputSpec(shape=(None, 3), dtype="float32")]
    archive.add_endpoint("serve", model.call, input_signature=spec)
    archive.add_endpoint("double", lambda x: model(x) * 2, input_signature=spec)
    archive.write_out(str(folder), verbose=False)
    loaded = tf.saved_model.load(str(folder))
    calls = []
    for name, signature in loaded.signatures.items():
        (key,) = signature.structured_input_signature[1]
        calls.append((name, {key: numbers(4, 3)}))
    return calls


@case("exported")
def nested_model(folder: Path) -> Any:
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "elu")], name="inner")
    x = keras.Input((4,), name="x")
    y = keras.layers.Concatenate()([inner(x), inner(x * 2.0)])
    model = keras.Model(x, keras.layers.Dense(1)(y))
    model.compile("rmsprop", "mse")
    model.export(str(folder), verbose=False)
    return served(folder, numbers(3, 4))
