"""Keras' preprocessing layers with sparse and ragged results and inputs: see `both`.

python keras_sparse_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
keras = tf.keras
layers = keras.layers
WORDS = ["earth", "wind", "and", "fire"]


def told(x: Any) -> Any:
    """The comparable parts of a result: its kind, shape, dtype and components."""
    if isinstance(x, dict):
        return {str(key): told(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [told(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    if isinstance(x, bytes):
        return x.decode()
    if isinstance(x, (tf.SparseTensor, tf.RaggedTensor, tf.Tensor)):
        shape = x.shape.as_list() if x.shape.rank is not None else "unknown"
        kind = type(x).__name__.removeprefix("Eager")
        head = [kind, shape, x.dtype.name]
        if kind == "SparseTensor":
            return [*head, *(told(part.numpy()) for part in (x.indices, x.values, x.dense_shape))]
        return [*head, told(x.to_list() if kind == "RaggedTensor" else x.numpy())]
    return told(np.asarray(x).tolist())


def inputs(kind: str, form: str) -> Any:
    """Numbers or texts in one of the forms that a layer may be called on."""
    if kind == "text":
        table = np.array([["earth", "fire", "air"], ["wind", "", "wind"], ["and", "and", "earth"]])
    elif kind == "float":
        table = np.array([[-1.5, 1.0, 3.5], [0.5, 0.25, 2.0], [7.0, 1.5, 1.0]], "float32")
    else:
        table = np.array([[1, 3, 2], [0, 4, 0], [2, 2, 1]])
    if form == "ragged":
        rows = [table[0].tolist(), [], table[2, :2].tolist()]
        return tf.ragged.constant(
            rows, dtype=None if kind == "text" else table.dtype, ragged_rank=1
        )
    if form == "sparse":
        places = [[0, 0], [0, 2], [2, 0], [2, 1]]
        values = [table[i, j] for i, j in places]
        return tf.SparseTensor(places, values, [3, 4])
    cut = {
        "scalar": table[0, 1],
        "vector": table[0],
        "column": table[:, :1],
        "matrix": table,
        "cube": np.stack([table, table[::-1]]),
    }[form]
    return tf.constant(cut)


FORMS = ("scalar", "vector", "column", "matrix", "cube", "ragged", "sparse")
LOOKUP_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")


def category(**options: Any) -> Any:
    return layers.CategoryEncoding(num_tokens=6, **options), "int"


def hashing(**options: Any) -> Any:
    return layers.Hashing(num_bins=5, **options), "text"


def discretization(**options: Any) -> Any:
    return layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0], **options), "float"


def _weights(options: Any) -> Any:
    if options.get("output_mode") == "tf_idf":
        options["idf_weights"] = [0.25, 0.5, 2.0, 4.0]
    return options


def string_lookup(**options: Any) -> Any:
    return layers.StringLookup(vocabulary=WORDS, **_weights(options)), "text"


def masked_lookup(**options: Any) -> Any:
    options = _weights(options)
    return layers.StringLookup(
        vocabulary=WORDS, mask_token="", num_oov_indices=2, **options
    ), "text"


def padded_lookup(**options: Any) -> Any:
    options = _weights(options)
    return layers.StringLookup(
        vocabulary=WORDS, max_tokens=9, pad_to_max_tokens=True, **options
    ), "text"


def integer_lookup(**options: Any) -> Any:
    return layers.IntegerLookup(vocabulary=[1, 2, 3, 9], **_weights(options)), "int"


MAKERS = {
    "category": (category, ("one_hot", "multi_hot", "count")),
    "hashing": (hashing, ("int", "one_hot", "multi_hot", "count")),
    "discretization": (discretization, ("int", "one_hot", "multi_hot", "count")),
    "string_lookup": (string_lookup, LOOKUP_MODES),
    "masked_lookup": (masked_lookup, LOOKUP_MODES),
    "padded_lookup": (padded_lookup, LOOKUP_MODES),
    "integer_lookup": (integer_lookup, LOOKUP_MODES),
}


def attempt(program: Any) -> Any:
    """The result of a call, or that it is an error."""
    try:
        return told(program())
    except Exception:
        return "error"


def everywhere(layer: Any, x: Any) -> Any:
    """Called eagerly, traced with an unknown batch size, and mapped over batches of a dataset."""
    spec = getattr(x, "_type_spec", None)
    if spec is None or isinstance(x, tf.Tensor):
        spec = tf.TensorSpec([None, *x.shape[1:]] if x.shape.rank else [], x.dtype)
    traced = tf.function(layer, input_signature=[spec], autograph=False)
    found = {"eager": attempt(lambda: layer(x)), "traced": attempt(lambda: traced(x))}
    if x.shape.rank:
        data = tf.data.Dataset.from_tensor_slices(x)
        found["mapped"] = attempt(lambda: list(data.batch(2).map(layer)))
    return found


def grid(name: str, sparse: bool) -> Any:
    """Each mode on each form of input."""
    make, modes = MAKERS[name]
    found = {}
    for mode in modes:
        if sparse and mode == "int":
            continue
        for form in FORMS:
            layer, kind = make(output_mode=mode, sparse=sparse)
            found[f"{mode}_{form}"] = everywhere(layer, inputs(kind, form))
    return found


TEXTS = ["Earth, wind  and fire!", "", "fire fire stone", "and"]


def vectorized(texts: Any = TEXTS, **options: Any) -> Any:
    """The results of TextVectorization, and its configuration."""
    layer = layers.TextVectorization(vocabulary=WORDS, **_weights(options))
    config = layer.get_config()
    names = ("output_mode", "output_sequence_length", "sparse", "ragged", "split", "ngrams")
    again = type(layer).from_config(config)
    x = tf.constant(texts)
    return [everywhere(layer, x), attempt(lambda: again(x)), [config[name] for name in names]]


def refused() -> Any:
    """Which of these raise errors, and of which class."""
    wrong: Any = [
        lambda: layers.Hashing(3, sparse=True),
        lambda: layers.Discretization([0.0], sparse=True),
        lambda: layers.StringLookup(vocabulary=["a"], sparse=True),
        lambda: layers.IntegerLookup(vocabulary=[1], sparse=True),
        lambda: layers.TextVectorization(vocabulary=["a"], sparse=True),
        lambda: layers.TextVectorization(vocabulary=["a"], ragged=True, output_mode="count"),
        lambda: keras.Input((2,), sparse=True, ragged=True),
        lambda: keras.KerasTensor((2,), sparse=True, ragged=True),
        lambda: layers.CategoryEncoding(3, output_mode="int", sparse=True),
    ]
    found = []
    for one in wrong:
        try:
            one()
            found.append("none")
        except Exception as error:
            found.append(type(error).__name__)
    return found


def trained(make: Any, x: Any, y: Any, batch_size: Any = 2) -> Any:
    """Outputs and losses of a model of fixed weights, and outputs after saving and loading it."""
    model = make()
    for weight in model.weights:
        size = int(np.prod(weight.shape))
        weight.assign((np.arange(size) % 7 / 8 - 0.25).reshape(weight.shape))
    found = [model(x), [[x.sparse, x.ragged] for x in model.inputs]]
    model.compile(keras.optimizers.SGD(0.125), "mse")
    history = model.fit(x, y, batch_size=batch_size, shuffle=False, epochs=2, verbose=0)
    found += [history.history["loss"], [w.numpy() for w in model.weights]]
    found += [model.predict(x, batch_size=2, verbose=0), model.evaluate(x, y, verbose=0)]
    model.save("model.keras")
    found.append(keras.models.load_model("model.keras")(x))
    return found


def sparse_model() -> Any:
    x = keras.Input((4,), sparse=True, name="wide")
    return keras.Model(x, layers.Dense(2)(x))


def ragged_model() -> Any:
    x = keras.Input((None,), dtype="int64", ragged=True, name="ids")
    return keras.Model(x, layers.GlobalAveragePooling1D()(layers.Embedding(5, 2)(x)))


def lookup_model() -> Any:
    x = keras.Input((3,), dtype="string")
    hot = layers.StringLookup(vocabulary=WORDS, output_mode="count", sparse=True)(x)
    return keras.Model(x, layers.Dense(2)(hot))


def text_model() -> Any:
    x = keras.Input((), dtype="string")
    ids = layers.TextVectorization(vocabulary=WORDS, ragged=True)(x)
    return keras.Model(x, layers.GlobalMaxPooling1D()(layers.Embedding(6, 2)(ids)))


def wide_and_deep() -> Any:
    city = keras.Input((1,), dtype="string", name="city")
    sizes = keras.Input((3,), name="sizes")
    hashed = layers.Hashing(10, output_mode="multi_hot", sparse=True)(city)
    cut = layers.Discretization([0.0, 1.0], output_mode="count", sparse=True)(sizes)
    wide = layers.Dense(1)(layers.Concatenate()([hashed, cut]))
    deep = layers.Dense(1)(layers.Dense(3, activation="relu")(sizes))
    return keras.Model({"city": city, "sizes": sizes}, layers.Add()([wide, deep]))


Y = np.array([[0.5, 1.0], [0.25, 0.0], [1.0, 1.0]], "float32")
FEATURES = {
    "city": tf.constant([["oslo"], ["rome"], ["oslo"]]),
    "sizes": tf.constant([[0.5, 1.5, -1.0], [2.0, 0.25, 0.5], [-1.0, 0.0, 1.0]]),
}

PROGRAMS = {
    "category": lambda: grid("category", True),
    "category_dense": lambda: grid("category", False),
    "hashing": lambda: grid("hashing", True),
    "discretization": lambda: grid("discretization", True),
    "discretization_dense": lambda: grid("discretization", False),
    "string_lookup": lambda: grid("string_lookup", True),
    "masked_lookup": lambda: grid("masked_lookup", True),
    "masked_lookup_dense": lambda: grid("masked_lookup", False),
    "padded_lookup": lambda: grid("padded_lookup", True),
    "integer_lookup": lambda: grid("integer_lookup", True),
    "ragged": lambda: vectorized(ragged=True),
    "ragged_column": lambda: vectorized([[text] for text in TEXTS], ragged=True),
    "ragged_cut": lambda: vectorized(ragged=True, output_sequence_length=2),
    "ragged_characters": lambda: vectorized(ragged=True, split="character"),
    "ragged_ngrams": lambda: vectorized(ragged=True, ngrams=2),
    "ragged_uncut": lambda: vectorized(
        [["earth", "fire", "a"]], ragged=True, split=None, output_sequence_length=2
    ),
    "ragged_scalar": lambda: vectorized("earth x", ragged=True),
    "texts_multi_hot": lambda: vectorized(output_mode="multi_hot", sparse=True),
    "texts_count": lambda: vectorized(output_mode="count", sparse=True, ngrams=(1, 2)),
    "texts_padded": lambda: vectorized(
        output_mode="count", sparse=True, max_tokens=9, pad_to_max_tokens=True
    ),
    "texts_tf_idf": lambda: vectorized("earth x earth", output_mode="tf_idf", sparse=True),
    "texts_one_hot": lambda: vectorized(output_mode="one_hot"),
    "texts_binary": lambda: vectorized(output_mode="binary", sparse=True),
    "refused": refused,
    "sparse_model": lambda: trained(
        sparse_model, tf.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [3, 4]), Y
    ),
    "ragged_model": lambda: trained(
        ragged_model, tf.ragged.constant([[1, 2, 0], [4], [3, 3]], dtype="int64"), Y
    ),
    "lookup_model": lambda: trained(lookup_model, inputs("text", "matrix"), Y),
    "text_model": lambda: trained(text_model, tf.constant(["earth fire", "and", "fire x"]), Y),
    "wide_and_deep": lambda: trained(wide_and_deep, FEATURES, Y[:, :1]),
}

if __name__ == "__main__":
    report(PROGRAMS, told)
