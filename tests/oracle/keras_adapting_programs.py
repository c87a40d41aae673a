"""Layers called before they are adapted, and FeatureSpace: see `both`.

python keras_adapting_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers
FeatureSpace = keras.utils.FeatureSpace

WORDS = np.array([["red"], ["blue"], ["red"], ["green"], ["blue"], ["red"]])
SENTENCES = np.array([["the red fox"], ["a blue sea"], ["the sea, the fox"], ["Red!"]])
INTEGERS = np.array([[7], [3], [7], [5], [3], [7], [9]])
NUMBERS = np.random.default_rng(3).normal(2, 3, (40, 1)).astype("float32")


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    found = np.asarray(x)
    values = found.astype(str) if found.dtype.kind in "SO" else found
    return [str(found.dtype), values.tolist()]


def sizes(x: Any) -> Any:
    if isinstance(x, dict):
        return {name: sizes(part) for name, part in x.items()}
    return list(x.shape)


def later(layer: Any, data: Any, dtype: str, unknown: Any) -> Any:
    inputs = keras.Input((1,), dtype=dtype)
    outputs = layer(inputs)
    model = keras.Model(inputs, outputs)
    layer.adapt(data)
    found = model(tf.constant(data))
    other = model(tf.constant(unknown))
    if isinstance(found, tf.SparseTensor):
        found, other = tf.sparse.to_dense(found), tf.sparse.to_dense(other)
    # For rows of text, Keras infers one axis more than there is.
    is_text = isinstance(layer, layers.TextVectorization)
    is_told = not is_text or layer.get_config()["output_mode"] == "int"
    return [sizes(outputs) if is_told else None, found, other]


def words(**options: Any) -> Any:
    return later(layers.StringLookup(**options), WORDS, "string", [["red"], ["grey"]])


def integers(**options: Any) -> Any:
    return later(layers.IntegerLookup(**options), INTEGERS, "int64", [[4], [9]])


def sentences(**options: Any) -> Any:
    layer = layers.TextVectorization(**options)
    return later(layer, SENTENCES, "string", [["blue fox"], ["what a fox"]])


def ranges(**options: Any) -> Any:
    return later(layers.Discretization(**options), NUMBERS, "float32", [[0.5], [2.5]])


def normalised(**options: Any) -> Any:
    return later(layers.Normalization(**options), NUMBERS, "float32", [[0.5], [2.5]])


def in_sequence() -> Any:
    cut = layers.TextVectorization(output_sequence_length=4, max_tokens=12)
    embed = layers.Embedding(12, 2, embeddings_initializer="ones")
    model = keras.Sequential([keras.Input((1,), dtype="string"), cut, embed])
    shape = sizes(model.outputs[0])
    cut.adapt(SENTENCES)
    return [shape, model(tf.constant(SENTENCES)).shape.as_list()]


def in_a_model_in_a_model() -> Any:
    look = layers.StringLookup(output_mode="one_hot", max_tokens=6, pad_to_max_tokens=True)
    inputs = keras.Input((1,), dtype="string")
    inner = keras.Model(inputs, look(inputs))
    outer_inputs = keras.Input((1,), dtype="string")
    outer = keras.Model(
        outer_inputs, layers.Dense(2, kernel_initializer="ones")(inner(outer_inputs))
    )
    look.adapt(WORDS)
    return outer(tf.constant(WORDS))


def called_too_early() -> Any:
    found = []
    for layer, x in (
        (layers.StringLookup(), tf.constant(WORDS)),
        (layers.TextVectorization(), tf.constant(SENTENCES)),
        (layers.Discretization(num_bins=3), tf.constant(NUMBERS)),
        (layers.IntegerLookup(output_mode="one_hot"), tf.constant(INTEGERS)),
    ):
        try:
            layer(x)
            found.append("no error")
        except Exception:
            found.append("an error")
    return found


TABLE = {
    "age": np.array([23.0, 41.0, 35.0, 60.0, 18.0, 29.0], "float32"),
    "size": np.array([1.5, 2.5, 0.5, 3.5, 4.5, 2.0], "float32"),
    "rooms": np.array([1, 2, 2, 3, 1, 4]),
    "town": np.array(["york", "bath", "york", "hull", "bath", "york"]),
    "street": np.array([10, 20, 30, 40, 50, 60]),
    "owner": np.array(["ann", "bob", "cid", "dan", "eve", "ann"]),
}
NEW = {
    "age": [30.0, 50.0],
    "size": [1.0, 9.0],
    "rooms": [2, 8],
    "town": ["hull", "rome"],
    "street": [15, 20],
    "owner": ["bob", "zoe"],
}
ROW = {name: values[0] for name, values in NEW.items()}
KINDS = {
    "age": "float_normalized",
    "size": "float",
    "rooms": "integer_categorical",
    "town": "string_categorical",
    "street": "integer_hashed",
    "owner": "string_hashed",
}
CHOSEN = {
    "age": FeatureSpace.float_discretized(num_bins=3),
    "size": FeatureSpace.float_rescaled(scale=0.5, offset=1.0),
    "rooms": FeatureSpace.integer_categorical(max_tokens=4, output_mode="int"),
    "town": FeatureSpace.string_categorical(num_oov_indices=2),
    "street": FeatureSpace.integer_hashed(num_bins=5),
    "owner": FeatureSpace.string_hashed(num_bins=4, output_mode="int"),
}


def rows(table: Any = TABLE) -> Any:
    return tf.data.Dataset.from_tensor_slices(table)


def space(features: Any = KINDS, batch: int | None = None, **options: Any) -> Any:
    made = FeatureSpace(features, **options)
    made.adapt(rows() if batch is None else rows().batch(batch))
    return made


def encoded(made: Any) -> Any:
    mapped = list(rows(NEW).batch(2).map(made))
    single = list(rows(NEW).map(made))
    return [made(NEW), made(TABLE), made(ROW), mapped, single, sizes(made.get_encoded_features())]


def kinds(**options: Any) -> Any:
    return encoded(space(crosses=[("town", "rooms")], crossing_dim=6, hashing_dim=7, **options))


def crossed() -> Any:
    crosses = [
        FeatureSpace.cross(("town", "rooms"), crossing_dim=9, output_mode="int"),
        ("street", "owner"),
    ]
    made = space(crosses=crosses, output_mode="dict")
    return [encoded(made), made.crossers["town_X_rooms"].num_bins, sorted(made.crosses_by_name)]


def chosen() -> Any:
    made = space(dict(CHOSEN), 4, output_mode="dict")
    return [encoded(made), [int(x) for x in made.preprocessors["rooms"].get_vocabulary()]]


def own_layer() -> Any:
    texts = {"text": np.array(["one fox", "two seas", "a fox"]), "x": np.array([1.0, 2.0, 3.0])}
    layer = layers.TextVectorization(output_mode="tf_idf")
    feature = FeatureSpace.feature(preprocessor=layer, dtype="string", output_mode="float")
    made = FeatureSpace({"text": feature, "x": "float"}, output_mode="dict")
    made.adapt(rows(texts))
    return [made({"text": ["a sea", "two fox"], "x": [1.0, 2.0]})]


def functional() -> Any:
    made = space(crosses=[("town", "owner")])
    inputs, features = made.get_inputs(), made.get_encoded_features()
    outputs = layers.Dense(1, kernel_initializer="ones")(features)
    model = keras.Model(inputs, outputs)
    whole = keras.Model(inputs, features)
    columns = {name: tf.constant(np.asarray(x))[:, None] for name, x in NEW.items()}
    told = {
        name: [list(x.shape), str(getattr(x.dtype, "name", x.dtype))] for name, x in inputs.items()
    }
    return [told, model(columns), whole(columns), sorted(made.one_hot_encoders)]


def trained() -> Any:
    made = space()
    outputs = layers.Dense(1, kernel_initializer="zeros")(made.get_encoded_features())
    model = keras.Model(made.get_encoded_features(), outputs)
    model.compile(keras.optimizers.SGD(0.125), "mse")
    truths = np.arange(6.0, dtype="float32")
    data = tf.data.Dataset.zip((rows(), rows(truths))).batch(3)
    history = model.fit(data.map(lambda x, y: (made(x), y)), epochs=2, verbose=0)
    return history.history["loss"]


def again() -> Any:
    made = space(crosses=[("town", "rooms")])
    copied = FeatureSpace.from_config(made.get_config())
    copied.adapt(rows())
    return [copied(NEW), sorted(made.get_config())]


def saved(**options: Any) -> Any:
    made = space(crosses=[("town", "rooms")], **options)
    made.save("space.keras")
    loaded = keras.models.load_model("space.keras")
    return [loaded(NEW), loaded(ROW), loaded.get_inputs()["age"].dtype == "float32"]


def not_adapted() -> Any:
    made = FeatureSpace({"size": "float", "street": "integer_hashed"})
    return made({"size": [1.0, 2.0], "street": [4, 5]})


def kinds_of_errors() -> Any:
    made = space(output_mode="dict")
    numbers = FeatureSpace.integer_categorical(output_mode="int")
    wrong: Any = [
        lambda: FeatureSpace({}),
        lambda: FeatureSpace({"a": "other"}),
        lambda: FeatureSpace({"a": "float"}, output_mode="list"),
        lambda: FeatureSpace({"a": "float"}, crosses=[("a", "b")]),
        lambda: FeatureSpace.cross(("a", "b"), 4, output_mode="float"),
        lambda: FeatureSpace.feature("float32", layers.Rescaling(2.0), "vector"),
        lambda: FeatureSpace({"a": "float_normalized"})({"a": [1.0]}),
        lambda: made([1.0]),
        lambda: made.adapt([1.0]),
        lambda: FeatureSpace({"a": numbers}).adapt({"a": [1, 2]}),
    ]
    found = []
    for one in wrong:
        try:
            one()
            found.append("none")
        except Exception as error:
            found.append(type(error).__name__)
    return found


PROGRAMS = {
    "words": words,
    "words_apart": lambda: words(num_oov_indices=3, mask_token="blue"),
    "words_padded": lambda: words(output_mode="one_hot", max_tokens=7, pad_to_max_tokens=True),
    "words_open": lambda: words(output_mode="one_hot"),
    "words_counted": lambda: words(output_mode="count", sparse=True),
    "words_weighted": lambda: words(output_mode="tf_idf"),
    "integers": integers,
    "integers_many": lambda: integers(output_mode="multi_hot", num_oov_indices=2),
    "sentences": sentences,
    "sentences_cut": lambda: sentences(output_sequence_length=2, ngrams=2),
    "sentences_rows": lambda: sentences(output_mode="multi_hot"),
    "sentences_weighted": lambda: sentences(
        output_mode="tf_idf", max_tokens=20, pad_to_max_tokens=True
    ),
    "ranges": lambda: ranges(num_bins=4),
    "ranges_rows": lambda: ranges(num_bins=6, output_mode="one_hot"),
    "ranges_counted": lambda: ranges(num_bins=3, output_mode="count"),
    "normalised": normalised,
    "normalised_inverted": lambda: normalised(axis=None, invert=True),
    "in_sequence": in_sequence,
    "in_a_model_in_a_model": in_a_model_in_a_model,
    "called_too_early": called_too_early,
    "space": kinds,
    "space_dict": lambda: kinds(output_mode="dict"),
    "space_crossed": crossed,
    "space_chosen": chosen,
    "space_own_layer": own_layer,
    "space_functional": functional,
    "space_trained": trained,
    "space_again": again,
    "space_saved": saved,
    "space_saved_dict": lambda: saved(output_mode="dict"),
    "space_not_adapted": not_adapted,
    "space_errors": kinds_of_errors,
}

if __name__ == "__main__":
    report(PROGRAMS, plain)
