"""Requirements of Keras' own unit tests for layers: calls and refusals that programs rely on."""

import numpy as np
import pytest

import pinnace as tf
from pinnace.keras import layers


@pytest.mark.parametrize("kind", [layers.Embedding, layers.ReversibleEmbedding])
def test_a_table_is_built_without_a_shape(kind):
    layer = kind(5, 3)
    layer.build()
    assert layer.built
    assert layer.embeddings.shape == (5, 3)


def test_no_custom_objects_is_an_empty_scope():
    before = dict(tf.keras.utils.get_custom_objects())
    with tf.keras.utils.custom_object_scope(None):
        assert tf.keras.utils.get_custom_objects() == before


def test_attention_hands_on_the_mask_of_the_query_by_keyword():
    mask = [tf.constant([[True, False]]), None]
    assert layers.Attention().compute_mask([None, None], mask=mask) is mask[0]


def test_a_refused_input_is_called_incompatible_with_the_layer():
    with pytest.raises(ValueError, match="incompatible with the layer"):
        layers.Dense(2)(np.ones(3, np.float32))


STATELESS = [
    layers.AveragePooling2D,
    layers.GlobalMaxPooling1D,
    layers.Flatten,
    layers.Masking,
    layers.Identity,
    layers.ReLU,
]


@pytest.mark.parametrize("kind", STATELESS)
def test_a_layer_without_weights_is_built_at_once_unless_a_subclass_builds(kind):
    assert kind().built
    subclass = type("Building", (kind,), {"build": lambda *_: None})
    assert not subclass().built


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: layers.Cropping1D(2)(np.zeros((1, 4, 3))), "must be smaller than"),
        (lambda: layers.Cropping2D((4, 0))(np.zeros((1, 8, 9, 3))), "smaller than the correspond"),
        (lambda: layers.Cropping3D(3)(np.zeros((1, 6, 9, 9, 3))), "smaller than the correspond"),
        (lambda: layers.Reshape((-2, 5)), r"non-negative integer.*-1.*target_shape=\(-2, 5\)"),
        (lambda: layers.RepeatVector(0), "should be a positive integer"),
        (lambda: layers.Dropout(0.5, noise_shape=(2, 0)), "to be positive integers or None"),
        (lambda: layers.Dropout(0.5, noise_shape="ab"), "Expected a tuple or list of integers"),
        (lambda: layers.Embedding(3.7, 8), "`input_dim` must be a positive integer"),
        (lambda: layers.Dense(2, trainable="yes"), "to be a boolean"),
        (lambda: layers.GroupNormalization(8)(np.zeros((1, 4))), "cannot be more than the number"),
        (lambda: layers.Add().compute_mask([1, 2], 1), "`mask` should be a list."),
        (lambda: layers.Add().compute_mask([1, 2], [None]), "should have the same length."),
        (lambda: layers.Concatenate()([np.zeros((2, 3)), np.zeros((4, 3))]), "matching shapes"),
        (lambda: layers.Softmax()(np.zeros((1, 3)), mask=np.ones((2, 3))), "broadcastable"),
        (lambda: layers.Attention()(np.zeros((1, 2, 2))), "must be called on a list"),
        (lambda: layers.IntegerLookup(oov_method="sum", vocabulary=[1]), "`oov_method`"),
        (lambda: layers.StringLookup(salt="x", vocabulary=["a"]), "only be a tuple of size 2"),
        (lambda: layers.Hashing(3, dtype="float32"), "should be an integer type"),
        (lambda: layers.TextVectorization(ngrams="2"), "`ngrams` must be None, an integer"),
        (lambda: layers.TextVectorization(ngrams=(1, 2.0)), "`ngrams` must be None, an integer"),
        (lambda: layers.Normalization(axis=3).build((2, 2)), "must be in the range"),
        (lambda: layers.Normalization().adapt(iter([])), "empty iterable"),
        (lambda: layers.DepthwiseConv2D(1, depth_multiplier=0), "strictly positive value"),
        (lambda: tf.keras.Input((4,), tensor=tf.keras.Input((3,))), "incompatible `shape`"),
        (lambda: tf.keras.Input((3,), dtype="int32", tensor=tf.keras.Input((3,))), "`dtype`"),
    ],
)
def test_what_keras_refuses_is_refused_in_its_words(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_layer_without_call_says_what_it_lacks():
    for method, call in (
        ("call", lambda layer: layer(np.ones((2, 3)))),
        ("compute_output_shape", lambda layer: layer.compute_output_shape((2, 3))),
        ("quantize", lambda layer: layer.quantize("int8")),
    ):
        with pytest.raises(NotImplementedError, match=f"`{method}` method implemented"):
            call(layers.Layer())


def test_inputs_of_fewer_axes_meet_sample_by_sample():
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(8.0).reshape(2, 4)
    np.testing.assert_array_equal(layers.Add()([x, y]), x + y[:, None])


def test_a_sequential_model_of_built_layers_is_saved_before_it_knows_its_inputs(tmp_path):
    layer, table = layers.Dense(3), layers.Embedding(5, 2)
    layer.build((None, 2))
    table.build()
    model = tf.keras.Sequential([table, layer])
    model.save(tmp_path / "model.keras")
    again = tf.keras.models.load_model(tmp_path / "model.keras")
    x = np.array([[1, 4]])
    np.testing.assert_array_equal(again(x), layer(table(x)))


def test_a_convolution_with_an_adapter_is_saved_as_one_kernel(tmp_path):
    x = np.random.default_rng(0).standard_normal((2, 5, 5, 3)).astype(np.float32)
    model = tf.keras.Sequential([tf.keras.Input((5, 5, 3)), layers.Conv2D(4, 2)])
    layer = model.layers[0]
    layer.enable_lora(2, lora_alpha=3.0)
    layer.lora_kernel_b.assign(np.ones((2, 4), np.float32))
    assert len(layer.trainable_weights) == 3
    assert len(layer.non_trainable_weights) == 1
    model.save_weights(tmp_path / "m.weights.h5")
    plain = tf.keras.Sequential([tf.keras.Input((5, 5, 3)), layers.Conv2D(4, 2)])
    plain.load_weights(tmp_path / "m.weights.h5")
    np.testing.assert_allclose(plain(x), model(x), rtol=1e-5, atol=1e-5)
    with pytest.raises(NotImplementedError, match="does not have a `quantize`"):
        layer.quantize("int8")


def test_an_initializer_can_be_given_values():
    values = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(tf.keras.initializers.get(values)((2, 3)), values)
    with pytest.raises(ValueError, match="Expected `shape` to be"):
        tf.keras.initializers.get(values)((3, 3))


def test_normalization_adapts_to_a_pydataset():
    x = np.random.default_rng(0).standard_normal((6, 2)).astype(np.float32)

    class Data(tf.keras.utils.PyDataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return x[2 * index % 6 : 2 * index % 6 + 2], None

    layer = layers.Normalization()
    layer.adapt(Data())
    np.testing.assert_allclose(layer.mean, x.mean(0, keepdims=True), rtol=1e-5, atol=1e-6)


def test_lookups_keep_how_they_hash():
    layer = layers.IntegerLookup(
        vocabulary=[1], num_oov_indices=4, oov_method="farmhash", salt=[137, 42]
    )
    again = layers.IntegerLookup.from_config(layer.get_config())
    x = np.arange(2, 40)
    np.testing.assert_array_equal(again(x), layer(x))


@pytest.mark.parametrize("dtype", ["int64", "int32", "float64", None])
@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("one_hot", [[[0, 1, 0], [1, 0, 0], [1, 0, 0]]]),
        ("multi_hot", [[1, 1, 0]]),
        ("count", [[2, 1, 0]]),
    ],
)
def test_hashes_are_encoded_in_the_dtype(mode, wanted, dtype):
    layer = layers.Hashing(3, output_mode=mode, dtype=dtype)
    numbers = layers.Hashing(3)(np.array([[1, 2, 2]])).numpy()[0]
    assert sorted(set(numbers.tolist())) == [0, 1]
    found = layer(np.array([[1, 2, 2]]))
    assert found.dtype == (dtype or "float32")
    order = [numbers[1], numbers[0], 2]
    np.testing.assert_array_equal(found.numpy()[..., order], wanted)


def test_a_pipeline_gives_its_mask_to_the_first_layer_and_on():
    seen = []

    class Sees(layers.Layer):
        def __init__(self):
            super().__init__()
            self.supports_masking = True

        def call(self, x, mask=None):
            seen.append(None if mask is None else np.asarray(mask).tolist())
            return x

    mask = [[True, True, False], [True, False, False]]
    pipeline = layers.Pipeline([Sees(), layers.Rescaling(2.0), Sees()])
    pipeline(np.ones((2, 3), np.float32), mask=np.array(mask))
    pipeline(np.ones((2, 3), np.float32))
    assert seen == [mask, mask, None, None]


def test_categories_are_encoded_in_the_dtype_of_variables():
    """Keras: dense layers cast them; an integer above 2048 is no float16."""
    x = np.array([[1, 2, 2]])
    for layer in (
        layers.CategoryEncoding(3, "count", dtype="mixed_float16"),
        layers.CategoryEncoding(3, "one_hot", dtype="mixed_bfloat16"),
        layers.Hashing(3, output_mode="multi_hot", dtype="mixed_float16"),
    ):
        assert layer(x).dtype == "float32"
    assert layers.CategoryEncoding(3, "count", dtype="float16")(x).dtype == "float16"
    many = np.ones((1, 2049), np.int64)
    assert layers.CategoryEncoding(2, "count", dtype="mixed_float16")(many)[0, 1] == 2049
