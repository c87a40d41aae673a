"""Keras 2: folders that `model.save` writes, with the slots of its optimizers."""

from pathlib import Path
from typing import Any

import tensorflow as tf
import tf_keras
from casebook import case, integers, numbers, served, texts

LEGACY = tf_keras.optimizers.legacy


def trained(model: Any, optimizer: Any, x: Any, y: Any, loss: str = "mse") -> Any:
    """The model after a step, so that the optimizer has created its slots."""
    model.compile(optimizer, loss)
    model.train_on_batch(x, y)
    return model


def dense(units: int = 4, activation: str = "relu") -> Any:
    return tf_keras.Sequential(
        [
            tf_keras.layers.Dense(units, activation, input_shape=(3,)),
            tf_keras.layers.Dense(2),
        ]
    )


def convolution() -> Any:
    return tf_keras.Sequential(
        [
            tf_keras.layers.Conv2D(3, 3, activation="relu", input_shape=(6, 6, 1)),
            tf_keras.layers.BatchNormalization(),
            tf_keras.layers.GlobalAveragePooling2D(),
            tf_keras.layers.Dense(2),
        ]
    )


def with_dense_slots(optimizer: Any, folder: Path) -> Any:
    model = trained(dense(), optimizer, numbers(5, 3), numbers(5, 2))
    model.save(folder, save_format="tf")
    return served(folder, numbers(4, 3))


def with_convolution_slots(optimizer: Any, folder: Path) -> Any:
    model = trained(convolution(), optimizer, numbers(4, 6, 6, 1), numbers(4, 2))
    model.save(folder, save_format="tf")
    return served(folder, numbers(2, 6, 6, 1))


@case("slots")
def adam_dense(folder: Path) -> Any:
    return with_dense_slots(LEGACY.Adam(), folder)


@case("slots")
def adam_convolution(folder: Path) -> Any:
    return with_convolution_slots(LEGACY.Adam(amsgrad=True), folder)


@case("slots")
def momentum_dense(folder: Path) -> Any:
    return with_dense_slots(LEGACY.SGD(0.1, momentum=0.9), folder)


@case("slots")
def momentum_convolution(folder: Path) -> Any:
    return with_convolution_slots(LEGACY.SGD(0.1, momentum=0.9, nesterov=True), folder)


@case("slots")
def rmsprop_dense(folder: Path) -> Any:
    return with_dense_slots(LEGACY.RMSprop(momentum=0.5, centered=True), folder)


@case("slots")
def rmsprop_recurrent(folder: Path) -> Any:
    model = tf_keras.Sequential([tf_keras.layers.GRU(3, input_shape=(None, 2))])
    trained(model, LEGACY.RMSprop(), numbers(4, 5, 2), numbers(4, 3))
    model.save(folder, save_format="tf")
    return served(folder, numbers(2, 7, 2))


@case("slots")
def adagrad_embedding(folder: Path) -> Any:
    model = tf_keras.Sequential(
        [
            tf_keras.layers.Embedding(7, 3, mask_zero=True, input_length=4),
            tf_keras.layers.LSTM(2),
        ]
    )
    trained(model, LEGACY.Adagrad(), integers(7, 5, 4), numbers(5, 2))
    model.save(folder, save_format="tf")
    return served(folder, integers(7, 3, 4).astype("float32"))


@case("slots")
def adadelta_dense(folder: Path) -> Any:
    return with_dense_slots(LEGACY.Adadelta(), folder)


@case("slots")
def ftrl_dense(folder: Path) -> Any:
    return with_dense_slots(LEGACY.Ftrl(), folder)


@case("slots")
def adam_without_traces(folder: Path) -> Any:
    model = trained(dense(5, "tanh"), LEGACY.Adam(), numbers(5, 3), numbers(5, 2))
    model.save(folder, save_format="tf", save_traces=False)
    return []  # without functions there is nothing to call


class Stepped(tf.Module):
    """Weights with the optimizer that changes them."""

    def __init__(self, optimizer: Any, columns: int) -> None:
        self.w = tf.Variable(numbers(3, columns), name="w")
        self.optimizer = optimizer
        self.loss(numbers(4, 3), numbers(4, columns))

    def loss(self, x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ self.w - y) ** 2)
        self.optimizer.apply_gradients([(tape.gradient(loss, self.w), self.w)])
        return loss

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def predict(self, x: Any) -> Any:
        return {"y": x @ self.w}


@case("slots")
def adam_module(folder: Path) -> Any:
    model = Stepped(LEGACY.Adam(0.1), 2)
    tf.saved_model.save(model, str(folder), signatures=model.predict)
    return [("serving_default", {"x": numbers(2, 3)})]


@case("slots")
def momentum_module(folder: Path) -> Any:
    model = Stepped(LEGACY.SGD(0.1, momentum=0.5), 1)
    tf.saved_model.save(model, str(folder), signatures=model.predict)
    return [("serving_default", {"x": numbers(2, 3)})]


@case("slots")
def adam_shared_layers(folder: Path) -> Any:
    one = tf_keras.Input((3,), name="one")
    two = tf_keras.Input((3,), name="two")
    shared = tf_keras.layers.Dense(4, "relu")
    joined = tf_keras.layers.Concatenate()([shared(one), shared(two)])
    model = tf_keras.Model([one, two], tf_keras.layers.Dense(1, name="score")(joined))
    x = [numbers(5, 3), numbers(5, 3)[::-1]]
    trained(model, LEGACY.Adam(), x, numbers(5, 1))
    model.save(folder, save_format="tf")
    return [("serving_default", {"one": x[0], "two": x[1]})]


@case("optimizers")
def new_adam(folder: Path) -> Any:
    return with_dense_slots(tf_keras.optimizers.Adam(), folder)


@case("optimizers")
def new_momentum(folder: Path) -> Any:
    return with_convolution_slots(tf_keras.optimizers.SGD(0.1, momentum=0.9), folder)


@case("optimizers")
def averaged(folder: Path) -> Any:
    return with_dense_slots(tf_keras.optimizers.AdamW(use_ema=True), folder)


@case("custom layers")
def subclassed_model(folder: Path) -> Any:
    class Gate(tf_keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.kernel = self.add_weight("kernel", [shape[-1], 3])

        def call(self, x: Any, training: bool = False) -> Any:
            return tf.sigmoid(x @ self.kernel) * (0.5 if training else 1.0)

    class Model(tf_keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.gates = [Gate(), Gate()]
            self.named = {"head": tf_keras.layers.Dense(2)}
            self.drop = tf_keras.layers.Dropout(0.5)

        def call(self, x: Any, training: bool = False) -> Any:
            for gate in self.gates:
                x = gate(x, training=training)
            return {"head": self.named["head"](self.drop(x, training=training)), "gate": x}

    model = Model()
    model(numbers(2, 3))
    model.save(folder, save_format="tf")
    return served(folder, numbers(4, 3))


@case("custom layers")
def nested_sequential(folder: Path) -> Any:
    inner = tf_keras.Sequential(
        [tf_keras.layers.Dense(3, "elu"), tf_keras.layers.LayerNormalization()]
    )
    model = tf_keras.Sequential([tf_keras.Input((4,)), inner, tf_keras.layers.Dense(1)])
    trained(model, LEGACY.Adam(), numbers(4, 4), numbers(4, 1))
    model.save(folder, save_format="tf")
    return served(folder, numbers(3, 4))


@case("masks")
def keras2_masked_recurrent(folder: Path) -> Any:
    x = tf_keras.Input((None,), dtype="int64", name="words")
    y = tf_keras.layers.Embedding(9, 3, mask_zero=True)(x)
    y = tf_keras.layers.Bidirectional(tf_keras.layers.LSTM(2, return_sequences=True))(y)
    y = tf_keras.layers.GlobalAveragePooling1D()(y)
    model = tf_keras.Model(x, y)
    tf.saved_model.save(model, str(folder))
    return [("serving_default", {"words": integers(9, 3, 5)})]


@case("masks")
def keras2_masking_layer(folder: Path) -> Any:
    model = tf_keras.Sequential(
        [tf_keras.Input((4, 2)), tf_keras.layers.Masking(), tf_keras.layers.GRU(3)]
    )
    model.save(folder, save_format="tf")
    x = numbers(3, 4, 2)
    x[1, 2:] = 0
    return served(folder, x)


@case("preprocessing")
def keras2_string_lookup(folder: Path) -> Any:
    x = tf_keras.Input((1,), dtype="string", name="colour")
    y = tf_keras.layers.StringLookup(vocabulary=["red", "green", "blue"])(x)
    y = tf_keras.layers.Embedding(4, 2)(y)
    tf_keras.Model(x, y).save(folder, save_format="tf")
    return [("serving_default", {"colour": texts("red", "none", "blue").reshape(3, 1)})]


@case("preprocessing")
def keras2_one_hot_of_strings(folder: Path) -> Any:
    x = tf_keras.Input((2,), dtype="string", name="words")
    lookup = tf_keras.layers.StringLookup(num_oov_indices=2, output_mode="multi_hot")
    lookup.adapt(texts("a", "b", "c", "b"))
    model = tf_keras.Model(x, tf_keras.layers.Dense(2)(lookup(x)))
    trained(model, LEGACY.Adam(), tf.constant([["a", "c"]]), numbers(1, 2))
    model.save(folder, save_format="tf")
    return [("serving_default", {"words": texts("a", "z", "c", "b").reshape(2, 2)})]


@case("preprocessing")
def keras2_text_vectorization(folder: Path) -> Any:
    layer = tf_keras.layers.TextVectorization(20, output_sequence_length=5)
    layer.adapt(texts("the cat sat", "the dog, too!", "a cat"))
    model = tf_keras.Sequential(
        [tf_keras.Input((1,), dtype="string"), layer, tf_keras.layers.Embedding(20, 2)]
    )
    model.save(folder, save_format="tf")
    return served(folder, texts("the cat and the dog", "A! dog").reshape(2, 1))


@case("preprocessing")
def keras2_tf_idf(folder: Path) -> Any:
    layer = tf_keras.layers.TextVectorization(15, ngrams=2, output_mode="tf_idf")
    layer.adapt(texts("one two three", "two three four", "one"))
    model = tf_keras.Sequential(
        [tf_keras.Input((1,), dtype="string"), layer, tf_keras.layers.Dense(2)]
    )
    trained(model, LEGACY.Adam(), tf.constant([["one two"]]), numbers(1, 2))
    model.save(folder, save_format="tf")
    return served(folder, texts("one two three", "four one two").reshape(2, 1))


@case("preprocessing")
def keras2_integers_and_buckets(folder: Path) -> Any:
    age = tf_keras.Input((1,), name="age")
    code = tf_keras.Input((1,), dtype="int64", name="code")
    name = tf_keras.Input((1,), dtype="string", name="name")
    scaled = tf_keras.layers.Normalization()
    scaled.adapt(numbers(9, 1))
    parts = [
        scaled(age),
        tf_keras.layers.CategoryEncoding(4, output_mode="one_hot")(
            tf_keras.layers.Discretization([-1.0, 0.0, 1.0])(age)
        ),
        tf_keras.layers.IntegerLookup(vocabulary=[3, 5, 9], output_mode="one_hot")(code),
        tf_keras.layers.CategoryEncoding(6, output_mode="one_hot")(
            tf_keras.layers.Hashing(6)(name)
        ),
    ]
    model = tf_keras.Model([age, code, name], tf_keras.layers.Concatenate()(parts))
    model.save(folder, save_format="tf")
    feeds = {
        "age": numbers(3, 1),
        "code": integers(10, 3, 1),
        "name": texts("ann", "bo", "cy").reshape(3, 1),
    }
    return [("serving_default", feeds)]


@case("preprocessing")
def keras2_inverse_lookup(folder: Path) -> Any:
    x = tf_keras.Input((3,), name="x")
    classes = tf.argmax(x, -1)
    names = tf_keras.layers.StringLookup(
        vocabulary=["a", "b", "c"], num_oov_indices=0, invert=True
    )(classes)
    tf_keras.Model(x, names).save(folder, save_format="tf")
    return [("serving_default", {"x": numbers(4, 3)})]


@case("keras2 plain")
def attention(folder: Path) -> Any:
    x = tf_keras.Input((5, 4), name="x")
    y = tf_keras.layers.MultiHeadAttention(2, 3)(x, x)
    y = tf_keras.layers.LayerNormalization()(y + x)
    model = tf_keras.Model(x, tf_keras.layers.GlobalMaxPooling1D()(y))
    model.save(folder, save_format="tf")
    return [("serving_default", {"x": numbers(2, 5, 4)})]


@case("keras2 plain")
def transposed_convolution(folder: Path) -> Any:
    model = tf_keras.Sequential(
        [
            tf_keras.Input((4, 4, 2)),
            tf_keras.layers.Conv2DTranspose(2, 3, strides=2, padding="same"),
            tf_keras.layers.LeakyReLU(),
            tf_keras.layers.UpSampling2D(2, interpolation="bilinear"),
            tf_keras.layers.SeparableConv2D(2, 3),
        ]
    )
    trained(model, LEGACY.Adam(), numbers(2, 4, 4, 2), numbers(2, 14, 14, 2))
    model.save(folder, save_format="tf")
    return served(folder, numbers(2, 4, 4, 2))


@case("keras2 plain")
def feature_columns(folder: Path) -> Any:
    column = tf.feature_column
    colours = column.categorical_column_with_vocabulary_list("colour", ["red", "green", "blue"])
    ages = column.numeric_column("age")
    columns = [
        ages,
        column.bucketized_column(ages, [-0.5, 0.5]),
        column.indicator_column(colours),
        column.embedding_column(column.categorical_column_with_hash_bucket("name", 5), 2),
    ]
    inputs = {
        "age": tf_keras.Input((1,), name="age"),
        "colour": tf_keras.Input((1,), dtype="string", name="colour"),
        "name": tf_keras.Input((1,), dtype="string", name="name"),
    }
    x = tf_keras.layers.DenseFeatures(columns)(inputs)
    model = tf_keras.Model(inputs, tf_keras.layers.Dense(1, "sigmoid")(x))
    model.save(folder, save_format="tf")
    feeds = {
        "age": numbers(3, 1),
        "colour": texts("red", "none", "blue").reshape(3, 1),
        "name": texts("ann", "bo", "cy").reshape(3, 1),
    }
    return [("serving_default", feeds)]


@case("recommenders")
def two_towers(folder: Path) -> Any:
    class Model(tf_keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.users = tf_keras.Sequential(
                [
                    tf_keras.layers.StringLookup(vocabulary=["ann", "bo"]),
                    tf_keras.layers.Embedding(3, 2),
                ]
            )
            self.titles = tf_keras.Sequential(
                [
                    tf_keras.layers.TextVectorization(vocabulary=["the", "cat", "dog"]),
                    tf_keras.layers.Embedding(5, 2, mask_zero=True),
                    tf_keras.layers.GlobalAveragePooling1D(),
                ]
            )
            self.score = tf_keras.Sequential([tf_keras.layers.Dense(3, "relu")])

        def call(self, inputs: Any) -> Any:
            joined = tf.concat([self.users(inputs["user"]), self.titles(inputs["title"])], 1)
            return self.score(joined)

    model = Model()
    feeds = {"user": texts("ann", "cy"), "title": texts("the cat", "a dog the dog")}
    given = {key: tf.constant(value) for key, value in feeds.items()}
    model(given)
    model.compile(LEGACY.Adagrad(0.1), "mse")
    model.train_on_batch(given, numbers(2, 3))
    model.save(folder, save_format="tf")
    return [("serving_default", feeds)]


@case("signatures")
def serving_function(folder: Path) -> Any:
    model = dense()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "lines")])
    def parse(lines: Any) -> Any:
        columns = tf.io.decode_csv(lines, [[0.0]] * 3)
        return {"scores": model(tf.stack(columns, 1))}

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def classes(x: Any) -> Any:
        return {"class": tf.argmax(model(x), 1)}

    model.save(folder, save_format="tf", signatures={"lines": parse, "classes": classes})
    return [("lines", {"lines": texts("1,2,3", "0.5,,1")}), ("classes", {"x": numbers(4, 3)})]


@case("signatures")
def stateful_recurrent(folder: Path) -> Any:
    model = tf_keras.Sequential(
        [
            tf_keras.layers.SimpleRNN(2, stateful=True, batch_input_shape=(1, 3, 2)),
            tf_keras.layers.Dense(1),
        ]
    )
    model.save(folder, save_format="tf")
    return served(folder, numbers(1, 3, 2), numbers(1, 3, 2))
