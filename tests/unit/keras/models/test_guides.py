"""Programs from TensorFlow's guides and articles."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf

X = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
Y = np.array([0, 1, 1, 0])


def test_a_trunk_with_two_heads() -> None:
    trunk = tf.keras.Sequential([tf.keras.layers.Dense(5, activation=tf.nn.sigmoid)])
    head1 = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    head2 = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    path1 = tf.keras.Sequential([trunk, head1])
    path2 = tf.keras.Sequential([trunk, head2])
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(0.1)
    losses = []
    for _ in range(20):
        with tf.GradientTape() as tape:
            loss = loss_fn(Y, path1(X, training=True))
        gradients = tape.gradient(loss, path1.trainable_variables)
        optimizer.apply_gradients(zip(gradients, path1.trainable_variables, strict=True))
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    before = trunk.get_weights()
    second = tf.keras.optimizers.Adam(0.1)
    with tf.GradientTape() as tape:
        loss = loss_fn(Y, path2(X, training=True))
    gradients = tape.gradient(loss, head2.trainable_variables)
    second.apply_gradients(zip(gradients, head2.trainable_variables, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(before, trunk.get_weights(), strict=True))
    assert list(trunk._default_signatures()) == ["serving_default"]


def test_a_list_of_layers_is_a_model() -> None:
    layers = [tf.keras.layers.Dense(3, activation=tf.nn.sigmoid) for _ in range(4)]
    perceptron = tf.keras.Sequential(layers)
    assert perceptron(X).shape == (4, 3)
    assert len(layers[3].trainable_variables) == 2
    assert len(perceptron.trainable_variables) == 8


def test_a_train_function_of_ones_own() -> None:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.05)

    @tf.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
            loss += 0.0 * tf.add_n([tf.reduce_sum(w) for w in model.trainable_weights])
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    average = tf.keras.metrics.Mean(name="loss", dtype=tf.float32)
    y = X.sum(1, keepdims=True)
    first = float(train_step(X, y))
    for _ in range(50):
        average.update_state(train_step(X, y))
        if tf.equal(optimizer.iterations % 10, 0):
            last = float(average.result())
            average.reset_states()
    assert last < first
    assert int(optimizer.iterations) == 51


def test_an_older_subclass() -> None:
    class Older(tf.keras.Model):
        def __init__(self, units: int) -> None:
            super(Older, self).__init__(self)  # noqa: UP008 (as it was written)
            self.dense = tf.keras.layers.Dense(units)
            self.norm = tf.keras.layers.BatchNormalization()

        def call(self, x: Any, training: bool = True) -> Any:
            y = self.norm(self.dense(x), training=training)
            self.add_metric(tf.reduce_mean(y), name="mean")
            return y

    model = Older(3)
    model(X)
    assert model.norm.moving_mean.numpy().any(), "training is True by default"
    assert model.get_updates_for(None) == []
    assert [metric.name for metric in model.metrics] == ["mean"]
    model.call = tf.function(model.call)
    np.testing.assert_allclose(
        model(X, training=False).numpy(), model(X, training=False).numpy(), rtol=1e-6
    )


def test_a_reversible_block() -> None:
    class Residual(tf.keras.Model):
        def __init__(self, filters: int) -> None:
            super().__init__()
            self.axis = 3
            self.f = tf.keras.layers.Conv2D(filters, 3, padding="same", activation="tanh")
            self.g = tf.keras.layers.Conv2D(filters, 3, padding="same", activation="tanh")

        def call(self, x: Any, training: bool = True) -> Any:
            x1, x2 = tf.split(x, num_or_size_splits=2, axis=self.axis)
            y1 = self.f(x2, training=training) + x1
            y2 = self.g(y1, training=training) + x2
            return tf.concat([y1, y2], axis=self.axis)

        def backward_grads(self, y: Any, dy: Any) -> Any:
            dy1, dy2 = tf.split(dy, 2, axis=self.axis)
            y1, y2 = tf.split(y, 2, axis=self.axis)
            with tf.GradientTape() as gtape:
                gtape.watch(y1)
                gy1 = self.g(y1)
            found = gtape.gradient(gy1, [y1, *self.g.trainable_variables], output_gradients=dy2)
            dg = found[1:]
            dx1 = dy1 + found[0]
            x2 = y2 - gy1
            with tf.GradientTape() as ftape:
                ftape.watch(x2)
                fx2 = self.f(x2)
            found = ftape.gradient(fx2, [x2, *self.f.trainable_variables], output_gradients=dx1)
            return tf.concat([dx1, dy2 + found[0]], axis=self.axis), found[1:] + dg

    block = Residual(2)
    x = tf.constant(np.random.default_rng(0).normal(size=(2, 4, 4, 4)).astype(np.float32))
    dy = tf.ones_like(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = block(x)
    wanted = tape.gradient(y, [x, *block.trainable_variables], output_gradients=dy)
    dx, grads = block.backward_grads(y, dy)
    for one, other in zip([dx, *grads], wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)


def test_functions_run_eagerly_while_debugging() -> None:
    class CustomModel(tf.keras.models.Model):
        @tf.function
        def call(self, input_data: Any) -> Any:
            if tf.reduce_mean(input_data) > 0:
                return input_data
            return input_data // 2

    tf.config.experimental_run_functions_eagerly(True)
    try:
        model = CustomModel()
        assert model(tf.constant([-2, -4])).numpy().tolist() == [-1, -2]
    finally:
        tf.config.experimental_run_functions_eagerly(False)


class OneStep(tf.keras.Model):  # type: ignore[misc]
    """A text generator: it is never called itself, only its function is."""

    def __init__(self, vocabulary: list[str]) -> None:
        super().__init__()
        self.ids = tf.keras.layers.StringLookup(vocabulary=vocabulary)
        self.texts = tf.keras.layers.StringLookup(vocabulary=vocabulary, invert=True)
        self.table = tf.keras.layers.Embedding(len(vocabulary) + 1, 3)

    @tf.function
    def following(self, texts: Any) -> Any:
        ids = self.ids(tf.strings.unicode_split(texts, "UTF-8")).to_tensor()
        return self.texts(ids), tf.reduce_sum(self.table(ids), 1)


def test_a_model_that_was_never_called_is_saved_with_its_functions(tmp_path: Path) -> None:
    model = OneStep(["a", "b"])
    texts = tf.constant(["ab", "z"])
    expected = model.following(texts)
    tf.saved_model.save(model, tmp_path / "model")
    restored = tf.saved_model.load(tmp_path / "model")
    found = restored.following(texts)
    assert found[0].numpy().tolist() == [[b"a", b"b"], [b"[UNK]", b"[UNK]"]]
    assert np.array_equal(found[1], expected[1])
    assert not restored.signatures


def test_functions_of_a_model_are_saved_beside_its_call(tmp_path: Path) -> None:
    class Doubling(tf.keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = tf.keras.layers.Dense(2)

        def call(self, x: Any) -> Any:
            return self.dense(x)

        @tf.function(input_signature=[tf.TensorSpec([None, 6])])
        def doubled(self, x: Any) -> Any:
            return 2.0 * self.dense(x)

    model = Doubling()
    once = model(X).numpy()
    tf.saved_model.save(model, tmp_path / "model")
    restored = tf.saved_model.load(tmp_path / "model")
    assert np.array_equal(restored.doubled(X), 2 * once)
    assert np.array_equal(restored(X), once)
    assert list(restored.signatures) == ["serving_default"]


def test_words_of_any_number_are_looked_up_in_a_function_and_after_loading(tmp_path: Path) -> None:
    lookup = tf.keras.layers.StringLookup(vocabulary=["a", "b"])
    hot = tf.keras.layers.StringLookup(vocabulary=["a", "b"], output_mode="multi_hot")
    module = tf.Module()
    module.lookup, module.hot = lookup, hot

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def words(texts: Any) -> Any:
        ragged = tf.strings.split(texts)
        return {"ids": lookup(ragged).to_tensor(), "hot": hot(ragged)}

    module.words = words
    tf.saved_model.save(module, tmp_path / "model")
    for one in (words, tf.saved_model.load(tmp_path / "model").words):
        found = one(tf.constant(["a c b", "b"]))
        assert found["ids"].numpy().tolist() == [[1, 0, 2], [2, 0, 0]]
        assert found["hot"].numpy().tolist() == [[1, 1, 1], [0, 0, 1]]


@pytest.mark.parametrize("called", [False, True])
def test_a_metric_gives_its_variable_s_value(called: bool) -> None:
    class Positives(tf.keras.metrics.Metric):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(name="positives")
            self.seen = self.add_variable((), "zeros", name="seen")

        def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
            del y_pred, sample_weight
            self.seen.assign_add(tf.reduce_sum(tf.cast(y, tf.float32)))

        def result(self) -> Any:
            return self.seen.value() if called else self.seen.value

    model = tf.keras.Sequential([tf.keras.Input([6]), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[Positives()])
    assert model.fit(X, Y, verbose=0).history["positives"] == [2.0]
    assert float(Positives()(Y, Y)) == 2.0


def test_a_cell_gets_the_shape_whatever_it_is_called() -> None:
    class Cell(tf.keras.layers.Layer):  # type: ignore[misc]
        state_size = 3

        def build(self, sizes: Any) -> None:
            self.kernel = self.add_weight(shape=(sizes[-1], 3), initializer="ones", name="k")

        def call(self, x: Any, states: Any) -> Any:
            y = tf.matmul(x, self.kernel) + states[0]
            return y, [y]

    layer = tf.keras.layers.RNN(Cell())
    assert layer(np.ones((2, 4, 5), np.float32)).numpy().tolist() == [[20.0] * 3] * 2
    assert layer.cell.kernel.path.endswith("/k")


def test_a_model_is_made_again_from_its_configuration() -> None:
    inputs = tf.keras.Input([6])
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs), name="small")

    class Own(tf.keras.Model):  # type: ignore[misc]
        pass

    for kind in (tf.keras.Model, type(model), Own):
        again = kind.from_config(model.get_config())
        assert isinstance(again, kind)
        again.set_weights(model.get_weights())
        assert np.array_equal(again(X), model(X))
        assert again.name == "small"
