"""DenseFeatures and SequenceFeatures as layers: built, trained, saved and loaded."""

import numpy as np
import pytest

import pinnace as tf

columns = tf.feature_column
X = {
    "age": np.array([[1.0], [30.0], [70.0], [41.0]], np.float32),
    "word": np.array([["a"], ["bb"], [""], ["zz"]]),
}


def layer(path=None):
    age = columns.numeric_column("age", normalizer_fn=halved)
    if path is None:
        word = columns.categorical_column_with_vocabulary_list("word", ["a", "bb"])
    else:
        path.write_text("a\nbb\n")
        word = columns.categorical_column_with_vocabulary_file("word", str(path))
    return tf.keras.layers.DenseFeatures(
        [
            age,
            columns.embedding_column(word, 2),
            columns.indicator_column(columns.bucketized_column(age, [10.0, 25.0])),
            columns.embedding_column(columns.crossed_column(["word", word], 7), 3),
        ]
    )


@tf.keras.utils.register_keras_serializable("columns")
def halved(x):
    return x / 2


def test_weights_have_the_names_of_keras_2():
    made = layer()
    made(X)
    assert [w.path.partition("/")[2] for w in made.weights] == [
        "word_X_word_embedding/embedding_weights",
        "word_embedding/embedding_weights",
    ]
    assert [tuple(w.shape) for w in made.weights] == [(7, 3), (2, 2)]


def test_columns_stand_in_the_order_of_their_names():
    made = layer()
    found: dict = {}
    values = made(X, cols_to_output_tensors=found)
    assert [c.name for c in found] == sorted(c.name for c in found)
    np.testing.assert_array_equal(values, np.concatenate([x.numpy() for x in found.values()], 1))
    assert made.compute_output_shape({k: v.shape for k, v in X.items()}) == values.shape


def test_traced_is_eager():
    made = layer()
    np.testing.assert_array_equal(tf.function(made)(X), made(X))


def test_the_gradient_reaches_the_rows_that_were_looked_up():
    made = layer()
    made(X)
    table = made.weights[1]
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(made(X))
    gradient = tf.convert_to_tensor(tape.gradient(total, table))
    np.testing.assert_array_equal(gradient, np.ones((2, 2)))  # "a" and "bb" occur once each


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_a_trained_model_is_read_again(tmp_path, suffix):
    model = tf.keras.Sequential([layer(), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    batches = tf.data.Dataset.from_tensor_slices((X, np.ones((4, 1), np.float32))).batch(2)
    before = model.fit(batches, verbose=0).history["loss"][0]
    assert model.fit(batches, epochs=20, verbose=0).history["loss"][-1] < before
    path = str(tmp_path / f"model.{suffix}")
    model.save(path)
    again = tf.keras.models.load_model(path)
    np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))


def test_a_saved_model_takes_the_vocabulary_along(tmp_path):
    words = tmp_path / "words.txt"
    inputs = {
        "age": tf.keras.Input((1,), name="age"),
        "word": tf.keras.Input((1,), dtype="string", name="word"),
    }
    model = tf.keras.Model(inputs, layer(words)(inputs))
    expected = model.predict(X, verbose=0)
    tf.saved_model.save(model, str(tmp_path / "saved"))
    words.unlink()
    served = tf.saved_model.load(str(tmp_path / "saved")).signatures["serving_default"]
    (found,) = served(age=X["age"], word=tf.constant(X["word"])).values()
    np.testing.assert_array_equal(found, expected)


def test_a_configuration_of_keras_2_is_read():
    number = {
        "class_name": "NumericColumn",
        "config": {
            "key": "age",
            "shape": [1],
            "default_value": None,
            "dtype": "float32",
            "normalizer_fn": "columns>halved",
        },
    }
    hashed = {
        "class_name": "HashedCategoricalColumn",
        "config": {"key": "word", "hash_bucket_size": 4, "dtype": "string"},
    }
    embedding = {
        "class_name": "EmbeddingColumn",
        "config": {
            "categorical_column": hashed,
            "dimension": 2,
            "combiner": "sum",
            "initializer": {"class_name": "Ones", "config": {}},
            "ckpt_to_load_from": None,
            "tensor_name_in_ckpt": None,
            "max_norm": None,
            "trainable": True,
        },
    }
    config = {"name": "features", "feature_columns": [number, embedding], "partitioner": None}
    made = tf.keras.layers.DenseFeatures.from_config(config)
    found = made({"age": X["age"][:1], "word": X["word"][:1]})
    np.testing.assert_array_equal(found, [[0.5, 1, 1]])


def test_shared_embeddings_are_one_variable():
    first, second = columns.shared_embeddings(
        [columns.categorical_column_with_identity(key, 5) for key in ("p", "q")], 2
    )
    made = tf.keras.layers.DenseFeatures([first, second])
    found = made({"p": np.array([1, 2]), "q": np.array([2, 1])}).numpy()
    np.testing.assert_array_equal(found[0], np.roll(found[1], 2))
    assert [w.name for w in made.trainable_weights] == ["p_q_shared_embedding:0"]
    with pytest.raises(ValueError, match="number of buckets"):
        columns.shared_embeddings(
            [columns.categorical_column_with_identity(key, n) for key, n in (("p", 5), ("q", 6))], 2
        )


def test_a_table_begins_with_a_checkpoint(tmp_path):
    table = np.arange(10, dtype=np.float32).reshape(5, 2)
    path = tf.train.Checkpoint(table=tf.Variable(table)).write(str(tmp_path / "c"))
    column = columns.embedding_column(
        columns.categorical_column_with_identity("p", 5),
        2,
        ckpt_to_load_from=path,
        tensor_name_in_ckpt="table/.ATTRIBUTES/VARIABLE_VALUE",
    )
    found = tf.keras.layers.DenseFeatures(column)({"p": np.array([3, 0])})
    np.testing.assert_array_equal(found, table[[3, 0]])


def test_sequences_of_other_lengths_are_refused():
    made = tf.keras.experimental.SequenceFeatures(
        [columns.sequence_numeric_column(key) for key in ("p", "q")]
    )
    p, q = tf.ragged.constant([[1.0, 2.0], [3.0]]), tf.ragged.constant([[1.0], [3.0, 4.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="lengths of q and p"):
        made({"p": p, "q": q})
