"""Results of feature columns; see `both`.

python feature_column_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
FOLDER = Path(sys.argv[2])
IS_OURS = sys.argv[1] == "pinnace"
CACHE = (
    "pinnace.feature_column.transformation"
    if IS_OURS
    else "tensorflow.python.feature_column.feature_column_v2"
)
FeatureTransformationCache: Any = importlib.import_module(CACHE).FeatureTransformationCache
columns = tf.feature_column


class State:
    """Variables and tables of columns; every table is 0, 1/8, 2/8, ..."""

    def __init__(self) -> None:
        self.variables: dict[Any, Any] = {}
        self.resources: dict[Any, Any] = {}

    def create_variable(self, column: Any, name: str, shape: Any, **options: Any) -> None:
        del options
        values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 8
        self.variables[column.name, name] = tf.Variable(values)

    def get_variable(self, column: Any, name: str) -> Any:
        return self.variables[column.name, name]

    def has_resource(self, column: Any, name: str) -> bool:
        return (column.name, name) in self.resources

    def add_resource(self, column: Any, name: str, resource: Any) -> None:
        self.resources[column.name, name] = resource

    def get_resource(self, column: Any, name: str) -> Any:
        return self.resources[column.name, name]


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if hasattr(x, "dense_shape"):
        return [plain(part) for part in (x.indices, x.values, x.dense_shape)]
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    if isinstance(x, bytes):
        return x.decode()
    if hasattr(x, "shape") and not hasattr(x, "dtype"):
        return plain(list(x))
    return plain(np.asarray(x).tolist())


def spec(column: Any) -> Any:
    found = column.parse_example_spec
    return {
        key: [type(f).__name__, f.dtype.name, plain(getattr(f, "default_value", None))]
        for key, f in sorted(found.items())
    }


def dense(column: Any, **features: Any) -> Any:
    state = State()
    column.create_state(state)

    def values(given: Any) -> Any:
        return column.get_dense_tensor(FeatureTransformationCache(given), state)

    return [
        column.name,
        list(column.variable_shape),
        spec(column),
        values(features),
        tf.function(values)(features),
    ]


def sparse(column: Any, **features: Any) -> Any:
    state = State()
    pair = column.get_sparse_tensors(FeatureTransformationCache(features), state)
    counted = columns.indicator_column(column)
    return [column.name, column.num_buckets, spec(column), *pair, dense(counted, **features)]


def sequence(column: Any, **features: Any) -> Any:
    state = State()
    column.create_state(state)
    pair = column.get_sequence_dense_tensor(FeatureTransformationCache(features), state)
    return [column.name, list(column.variable_shape), spec(column), *pair]


def ragged(*rows: Any, dtype: Any = None) -> Any:
    return tf.ragged.constant(list(rows), dtype=dtype).to_sparse()


WORDS = tf.constant([["a", "bb"], ["", "ccc"], ["bb", "zz"], ["", ""]])
LISTS = ragged(["a", "bb"], ["ccc"], [], ["bb", "a", "zz"])
NUMBERS = tf.constant([[3, 7], [-1, 12], [0, 3], [99, -1]])
FLOATS = tf.constant([[-2.5, 0.0], [0.5, 1.0], [3.25, 1e6], [0.999, -0.0]])
WEIGHTS = ragged([0.5, 2.0], [3.0], [], [1.0, 0.25, -1.0])


def numeric() -> Any:
    def halved(x: Any) -> Any:
        return x / 2

    return [
        dense(columns.numeric_column("x", (2,), normalizer_fn=halved), x=FLOATS),
        dense(columns.numeric_column("x", 2, default_value=7, dtype=tf.int64), x=NUMBERS),
        dense(columns.numeric_column("x", default_value=[0.5]), x=FLOATS[:, 0]),
        dense(columns.numeric_column("x", dtype=tf.float64), x=tf.constant([0.1], tf.float64)),
    ]


def bucketized() -> Any:
    column = columns.bucketized_column(columns.numeric_column("x", (2,)), [0.0, 0.5, 1.0])
    one = columns.bucketized_column(columns.numeric_column("y"), (1, 3))
    return [dense(column, x=FLOATS), sparse(column, x=FLOATS), sparse(one, y=FLOATS[:, 1])]


def hashed() -> Any:
    return [
        sparse(columns.categorical_column_with_hash_bucket("x", size), x=x)
        for size in (1, 7, 1000)
        for x in (WORDS, LISTS)
    ] + [sparse(columns.categorical_column_with_hash_bucket("x", 50, tf.int64), x=NUMBERS)]


def identity() -> Any:
    inside = tf.constant([[0, 4], [3, -1]])
    return [
        sparse(columns.categorical_column_with_identity("x", 5), x=inside),
        sparse(columns.categorical_column_with_identity("x", 5, 2), x=NUMBERS),
    ]


def vocabulary_list() -> Any:
    words = ["bb", "a", "ccc"]
    make = columns.categorical_column_with_vocabulary_list
    return [
        sparse(make("x", words), x=WORDS),
        sparse(make("x", words, default_value=1), x=LISTS),
        sparse(make("x", words, num_oov_buckets=3), x=LISTS),
        sparse(make("x", [3, 12, 0]), x=NUMBERS),
        sparse(make("x", [3, 12], tf.int32, num_oov_buckets=4), x=NUMBERS),
    ]


def vocabulary_file() -> Any:
    path = FOLDER / "words.txt"
    path.write_text("bb\na\nccc\nzz\n")
    digits = FOLDER / "digits.txt"
    digits.write_text("12\n3\n7\n")
    make = columns.categorical_column_with_vocabulary_file
    return [
        sparse(make("x", str(path)), x=WORDS),
        sparse(make("x", str(path), 2, default_value=0), x=LISTS),
        sparse(make("x", str(path), 3, num_oov_buckets=2), x=LISTS),
        sparse(make("x", str(digits), dtype=tf.int64), x=NUMBERS),
    ]


def vocabulary_records() -> Any:
    path = FOLDER / "words.tfrecord.gz"
    with tf.io.TFRecordWriter(str(path), "GZIP") as writer:
        for word in ("ccc", "a", "bb"):
            writer.write(word)
    column = columns.categorical_column_with_vocabulary_file("x", str(path))
    return [int(column.vocabulary_size), sparse(column, x=LISTS)]


def weighted() -> Any:
    words = columns.categorical_column_with_vocabulary_list("x", ["bb", "a", "ccc"])
    column = columns.weighted_categorical_column(words, "w")
    ids = columns.weighted_categorical_column(
        columns.categorical_column_with_identity("i", 100), "w", tf.int64
    )
    return [
        sparse(column, x=LISTS, w=WEIGHTS),
        *(
            dense(columns.embedding_column(column, 3, how), x=LISTS, w=WEIGHTS)
            for how in ("mean", "sum", "sqrtn")
        ),
        sparse(ids, i=tf.constant([[3, 7]]), w=tf.constant([[2, 5]], tf.int64)),
    ]


def crossed() -> Any:
    buckets = columns.bucketized_column(columns.numeric_column("y"), [0.0, 1.0])
    ids = columns.categorical_column_with_identity("i", 100)
    inner = columns.crossed_column([buckets, "x"], 11)
    return [
        sparse(columns.crossed_column(["x", "z"], 20), x=WORDS, z=LISTS),
        sparse(columns.crossed_column(["x", "z"], 20, hash_key=5), x=LISTS, z=LISTS),
        sparse(columns.crossed_column(["x", ids], 1000), x=LISTS, i=ragged([1], [2], [], [3, 4])),
        sparse(inner, x=WORDS, y=FLOATS[:, 0]),
        sparse(columns.crossed_column([inner, "z"], 31), x=WORDS, y=FLOATS[:, 0], z=LISTS),
    ]


def embedded() -> Any:
    words = columns.categorical_column_with_vocabulary_list("x", ["bb", "a", "ccc"])
    known = columns.categorical_column_with_vocabulary_list("x", ["bb", "a", "ccc", "zz"])
    return [
        *(
            dense(columns.embedding_column(words, 2, how, max_norm=norm), x=x)
            for how in ("mean", "sum", "sqrtn")
            for norm in (None, 0.5)
            for x in (WORDS, LISTS)
        ),
        dense(
            columns.embedding_column(known, 2, use_safe_embedding_lookup=False),
            x=ragged(["a", "bb"], ["zz"]),
        ),
    ]


def sequences() -> Any:
    words = columns.sequence_categorical_column_with_vocabulary_list("x", ["bb", "a", "ccc"])
    hashed_words = columns.sequence_categorical_column_with_hash_bucket("x", 6)
    ids = columns.sequence_categorical_column_with_identity("i", 9, 8)
    path = FOLDER / "more.txt"
    path.write_text("zz\nbb\n")
    listed = columns.sequence_categorical_column_with_vocabulary_file(
        "x", str(path), num_oov_buckets=2
    )
    steps = tf.sparse.from_dense(tf.constant([[[1, 2], [3, 0]], [[20, 0], [0, 0]]]))
    return [
        sequence(columns.indicator_column(words), x=LISTS),
        *(
            sequence(columns.embedding_column(words, 2, how), x=LISTS)
            for how in ("mean", "sum", "sqrtn")
        ),
        sequence(columns.indicator_column(hashed_words), x=LISTS),
        sequence(columns.indicator_column(listed), x=LISTS),
        sequence(columns.embedding_column(ids, 3, "sum"), i=steps),
        sequence(columns.sequence_numeric_column("w"), w=WEIGHTS),
        sequence(columns.sequence_numeric_column("w", (2,), default_value=9.0), w=ragged(
            [1.0, 2.0, 3.0, 4.0], [5.0, 6.0], []
        )),
    ]  # fmt: skip


def examples() -> Any:
    words = columns.categorical_column_with_vocabulary_list("x", ["bb", "a", "ccc"])
    number = columns.numeric_column("y", (2,), default_value=(1.0, 2.0))
    chosen = [
        number,
        columns.embedding_column(columns.weighted_categorical_column(words, "w"), 2),
        columns.indicator_column(columns.crossed_column(["x", "z"], 5)),
    ]
    feature, features = tf.train.Feature, tf.train.Features

    def example(x: Any, w: Any, z: Any, y: Any) -> Any:
        entries = {
            "x": feature(bytes_list=tf.train.BytesList(value=x)),
            "w": feature(float_list=tf.train.FloatList(value=w)),
            "z": feature(bytes_list=tf.train.BytesList(value=z)),
        }
        if y is not None:
            entries["y"] = feature(float_list=tf.train.FloatList(value=y))
        return tf.train.Example(features=features(feature=entries)).SerializeToString()

    records = [
        example([b"a", b"bb"], [1.0, 3.0], [b"q"], [5.0, 6.0]),
        example([], [], [b"q", b"r"], None),
    ]
    parsed = tf.io.parse_example(records, columns.make_parse_example_spec(chosen))
    return [dense(column, **parsed) for column in chosen]


def refusals() -> Any:
    number = columns.numeric_column("x")
    words = columns.categorical_column_with_vocabulary_list("x", ["a"])
    wrong = [
        lambda: columns.numeric_column("x", (0,)),
        lambda: columns.numeric_column("x", ("a",)),
        lambda: columns.numeric_column("x", dtype=tf.string),
        lambda: columns.numeric_column("x", (2,), default_value=[1.0]),
        lambda: columns.numeric_column("x", default_value=0.5, dtype=tf.int64),
        lambda: columns.numeric_column("x", normalizer_fn=3),
        lambda: columns.numeric_column(3),
        lambda: columns.bucketized_column(number, [1.0, 1.0]),
        lambda: columns.bucketized_column(number, []),
        lambda: columns.bucketized_column(words, [1.0]),
        lambda: columns.categorical_column_with_hash_bucket("x", 0),
        lambda: columns.categorical_column_with_hash_bucket("x", 3, tf.float32),
        lambda: columns.categorical_column_with_identity("x", 0),
        lambda: columns.categorical_column_with_identity("x", 3, 3),
        lambda: columns.categorical_column_with_vocabulary_list("x", []),
        lambda: columns.categorical_column_with_vocabulary_list("x", ["a", "a"]),
        lambda: columns.categorical_column_with_vocabulary_list("x", ["a"], tf.int64),
        lambda: columns.categorical_column_with_vocabulary_list("x", ["a"], None, 0, 2),
        lambda: columns.categorical_column_with_vocabulary_file("x", "/no/such/file"),
        lambda: columns.crossed_column(["x"], 3),
        lambda: columns.crossed_column(["x", "y"], 0),
        lambda: columns.crossed_column(
            ["x", columns.categorical_column_with_hash_bucket("y", 3)], 3
        ),
        lambda: columns.crossed_column(["x", number], 3),
        lambda: columns.embedding_column(words, 0),
        lambda: columns.embedding_column(words, 2, ckpt_to_load_from="x"),
        lambda: columns.embedding_column(words, 2, initializer=3),
        lambda: columns.indicator_column(number),
        lambda: columns.weighted_categorical_column(words, "w", tf.string),
        lambda: columns.make_parse_example_spec([number, words]),
        lambda: columns.make_parse_example_spec(["x"]),
    ]
    found = []
    for make in wrong:
        try:
            make()
        except (TypeError, ValueError) as error:
            found.append("TypeError" if isinstance(error, TypeError) else "ValueError")
        else:
            found.append("nothing was raised")
    return found


PROGRAMS = {
    "numeric": numeric,
    "bucketized": bucketized,
    "hashed": hashed,
    "identity": identity,
    "vocabulary list": vocabulary_list,
    "vocabulary file": vocabulary_file,
    "vocabulary records": vocabulary_records,
    "weighted": weighted,
    "crossed": crossed,
    "embedded": embedded,
    "sequences": sequences,
    "examples": examples,
    "refusals": refusals,
}


if __name__ == "__main__":
    report(PROGRAMS, plain)
