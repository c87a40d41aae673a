"""class_weight: every form of y gets the factors of its classes, whatever its shape."""

import numpy as np
import pytest

import pinnace as tf
from pinnace import keras

CLASSES = {0: 1.0, 1: 5.0, 2: 0.5}
RNG = np.random.default_rng(7)


def table(labels):
    """The factor of each class, looked up one by one."""
    return np.vectorize(lambda c: CLASSES.get(int(c), 1.0))(labels)


def model_for(shape, loss, build=True):
    """A model whose softmax is 1/3 for each of three classes, and stays constant."""
    layer = keras.layers.Dense(3, activation="softmax", kernel_initializer="zeros")
    parts = [keras.Input(shape), layer] if build else [layer]
    model = keras.Sequential(parts)
    model.compile(keras.optimizers.SGD(0.0), loss)
    return model


def losses(model, x, y, **options):
    """The loss for every kind of data: arrays, a dataset, a sequence, one batch."""
    count = len(x)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(count)

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            return x, y

    fitted = [
        model.fit(x, y, batch_size=count, verbose=0, **options),
        model.fit(dataset, verbose=0, **options),
        model.fit(Batches(), verbose=0, **options),
        model.fit(iter([(x, y)]), verbose=0, **options),
    ]
    alone = model.train_on_batch(x, y, return_dict=True, **options)
    return [*(history.history["loss"][0] for history in fitted), alone["loss"]]


SPARSE = "sparse_categorical_crossentropy"
FORMS = {
    "numbers": ((), SPARSE, lambda y: y),
    "numbers in a column": ((), SPARSE, lambda y: y[:, None]),
    "floats": ((), SPARSE, lambda y: y.astype("float32")),
    "one-hot": ((), "categorical_crossentropy", lambda y: np.eye(3)[y]),
    "sequences": ((5,), SPARSE, lambda y: y),
    "sequences of three, as long as a row": ((3,), SPARSE, lambda y: y),
    "sequences in a column": ((5,), SPARSE, lambda y: y[..., None]),
    "sequences of one step": ((1,), SPARSE, lambda y: y),
    "one-hot sequences": ((5,), "categorical_crossentropy", lambda y: np.eye(3)[y]),
    "pictures": ((4, 3), SPARSE, lambda y: y),
    "pictures with a channel": ((4, 3), SPARSE, lambda y: y[..., None]),
    "one-hot pictures": ((4, 3), "categorical_crossentropy", lambda y: np.eye(3)[y]),
    "bytes": ((4, 3), SPARSE, lambda y: y.astype("uint8")),
    "by shape": ((5,), "crossentropy", lambda y: y),
    "a loss object": ((5,), keras.losses.SparseCategoricalCrossentropy(), lambda y: y),
    "the function": ((5,), keras.losses.sparse_categorical_crossentropy, lambda y: y),
    "a loss of one's own": (
        (3,),
        lambda y, p: keras.losses.sparse_categorical_crossentropy(y, p),
        lambda y: y,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_value_counts_with_the_factor_of_its_class(form):
    inner, loss, made = FORMS[form]
    labels = RNG.integers(0, 3, (4, *inner))
    x = np.ones((4, *inner, 2), "float32")
    expected = np.log(3) * table(labels).mean()
    found = losses(model_for((*inner, 2), loss), x, made(labels), class_weight=CLASSES)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_model_that_is_not_built_yet_knows_by_its_loss():
    labels = RNG.integers(0, 3, (4, 5))
    model = model_for(None, SPARSE, build=False)
    found = losses(model, np.ones((4, 5, 2), "float32"), labels, class_weight=CLASSES)
    np.testing.assert_allclose(found, np.log(3) * table(labels).mean(), rtol=1e-5)


def test_what_has_no_factor_counts_once_and_an_ignored_class_stays_ignored():
    labels = np.array([[0, -1, 2], [1, 1, -1]])
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=-1)
    x = np.ones((2, 3, 2), "float32")
    weights = {0: 2.0, 1: 3.0}
    model = model_for((3, 2), loss)
    plain = model.fit(x, labels, verbose=0).history["loss"][0]
    found = model.fit(x, labels, class_weight=weights, verbose=0).history["loss"][0]
    # The factors of the four unmasked values are 2, 1, 3 and 3.
    np.testing.assert_allclose(found, plain * 9 / 4, rtol=1e-5)


@pytest.mark.parametrize(
    ("inner", "given"), [((), (4,)), ((), (4, 1)), ((5,), (4,)), ((5,), (4, 1)), ((5,), (4, 5))]
)
def test_sample_weights_multiply(inner, given):
    labels = RNG.integers(0, 3, (4, *inner))
    weights = RNG.random(given).astype("float32")
    wide = weights.reshape(weights.shape[: 1 + len(inner)])
    wide = wide.reshape(wide.shape + (1,) * (labels.ndim - wide.ndim))
    expected = np.log(3) * (table(labels) * wide).mean()
    model = model_for((*inner, 2), SPARSE)
    x = np.ones((4, *inner, 2), "float32")
    one = model.fit(x, labels, sample_weight=weights, class_weight=CLASSES, verbose=0)
    data = tf.data.Dataset.from_tensors((x, labels, weights))
    other = model.fit(data, class_weight=CLASSES, verbose=0)
    np.testing.assert_allclose(
        [one.history["loss"][0], other.history["loss"][0]], expected, rtol=1e-5
    )


def test_binary_labels_of_pictures_count_one_by_one():
    labels = RNG.integers(0, 2, (2, 4, 4, 1))
    model = keras.Sequential(
        [keras.Input((4, 4, 1)), keras.layers.Conv2D(1, 1, kernel_initializer="zeros")]
    )
    model.compile("sgd", keras.losses.BinaryCrossentropy(from_logits=True))
    x = np.ones((2, 4, 4, 1), "float32")
    expected = np.log(2) * np.where(labels == 1, 5.0, 1.0).mean()
    found = model.train_on_batch(x, labels, class_weight=CLASSES)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("key", [np.int64(1), np.uint8(1), 1.0, np.float32(1), True])
def test_keys_are_numbers_of_any_kind(key):
    x, y = np.ones((2, 2), "float32"), np.array([0, 1])
    found = model_for((2,), SPARSE).fit(x, y, class_weight={0: 1, key: 3}, verbose=0)
    np.testing.assert_allclose(found.history["loss"][0], 2 * np.log(3), rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"0": 1.0, "1": 5.0}, r"int\(key\)"),
        ({"cat": 1.0}, "class numbers, got 'cat'"),
        ({0.5: 1.0}, "got 0.5"),
        ({0: "much"}, "must be a number, got 'much'"),
        (np.array([1.0, 2.0]), "enumerate"),
        ([1.0, 2.0], "enumerate"),
        ("balanced", "must be a dict"),
    ],
)
def test_what_is_no_table_of_classes_is_refused_by_name(given, told):
    x, y = np.ones((2, 2), "float32"), np.array([0, 1])
    model = model_for((2,), SPARSE)
    for call in (model.fit, model.train_on_batch):
        with pytest.raises(ValueError, match=f"class_weight.*{told}|(?s:class_weight.*{told})"):
            call(x, y, class_weight=given)


def test_text_and_several_outputs_are_refused():
    x = np.ones((2, 2), "float32")
    with pytest.raises(ValueError, match="class_weight"):
        model_for((2,), SPARSE).fit(x, np.array(["a", "b"]), class_weight=CLASSES)
    given = keras.Input((2,))
    two = keras.Model(given, [keras.layers.Dense(3)(given), keras.layers.Dense(3)(given)])
    two.compile("sgd", ["mse", "mse"])
    with pytest.raises(ValueError, match=r"class_weight.*several outputs"):
        two.fit(x, [np.eye(3)[[0, 1]]] * 2, class_weight=CLASSES)


@pytest.mark.parametrize(
    ("output", "y"),
    [((2, 1), (2, 1)), ((2, 1), (2,)), ((2, 3), (2,)), ((2, 3), (2, 1)), ((2, 4, 3), (2, 4))],
)
def test_the_loss_crossentropy_is_the_one_that_fits_the_shapes(output, y):
    count = max(output[-1], 2)
    labels = RNG.integers(0, count, y)
    predicted = RNG.random(output).astype("float32")
    predicted /= predicted.sum(-1, keepdims=True) if output[-1] > 1 else 1.0
    given = keras.Input(output[1:])
    model = keras.Model(given, keras.layers.Activation("linear")(given))
    numbers = labels.reshape(output[:-1])
    if output[-1] == 1:
        one = predicted[..., 0].astype("float64")
        expected = -np.log(np.where(numbers == 1, one, 1 - one)).mean()
    else:
        expected = -np.log(np.take_along_axis(predicted, numbers[..., None], -1)).mean()
    for name in ("crossentropy", "ce"):
        model.compile("sgd", name)
        np.testing.assert_allclose(model.evaluate(predicted, labels, verbose=0), expected, 1e-4)
