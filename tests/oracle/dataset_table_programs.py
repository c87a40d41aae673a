"""Tables built from datasets, and optional elements as arguments of functions; see `both`.

python dataset_table_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])


def plain(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, bytes):
        return x.decode()
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    return plain(np.asarray(x).tolist())


def told(call: Any) -> Any:
    """The result of a call, or that it fails."""
    try:
        return plain(call())
    except ValueError:
        return "ValueError"
    except tf.errors.InvalidArgumentError:
        return "ValueError"  # here it is one
    except (tf.errors.OpError, TypeError) as error:
        return type(error).__name__


def pairs() -> Any:
    keys = tf.data.Dataset.range(10)
    return tf.data.Dataset.zip((keys, keys.map(lambda x: tf.strings.as_string(x * 2))))


def initializers() -> Any:
    made = tf.data.experimental.DatasetInitializer
    numbers = tf.data.Dataset.range(5)
    table = tf.lookup.StaticHashTable(made(pairs()), "none")
    twice = tf.data.Dataset.from_tensor_slices(([1, 1], [2, 2]))
    other = tf.data.Dataset.from_tensor_slices(([1, 1], [2, 3]))
    vocabulary = tf.lookup.StaticVocabularyTable(
        made(tf.data.Dataset.from_tensor_slices((["a", "b"], tf.constant([0, 1], tf.int64)))), 3
    )
    looked = tf.function(lambda x: table.lookup(x))
    return [
        plain(table.lookup(tf.constant([3, 12, 0], tf.int64))),
        plain(looked(tf.constant([[3], [12]], tf.int64))),
        plain(table.size()),
        plain(vocabulary.lookup(tf.constant(["b", "c", "d", "a", "e"]))),
        told(lambda: tf.lookup.StaticHashTable(made(twice), -1).size()),
        told(lambda: tf.lookup.StaticHashTable(made(other), -1).size()),
        *(told(lambda d=d: made(d)) for d in (pairs().batch(2), numbers.enumerate().batch(2))),
        told(lambda: made(tf.data.Dataset.zip((numbers, numbers, numbers)))),
    ]


def tables() -> Any:
    made = tf.data.experimental.table_from_dataset
    numbers = tf.data.Dataset.range(4).map(lambda x: (tf.strings.as_string(x), x))
    floats = tf.data.Dataset.range(4).map(lambda x: (x, tf.cast(x, tf.float32) / 2))
    keys = tf.constant([1, 40, 2], tf.int64)
    words = tf.constant(["1", "40", "2", "x", "y"])
    wrong: tuple[dict[str, Any], ...] = (
        *({"num_oov_buckets": -1}, {"vocab_size": 0}, {"key_dtype": tf.float32}),
        *({"vocab_size": 5}, {"default_value": "x"}),
    )
    return [
        plain(made(numbers).lookup(words)),
        plain(made(numbers, default_value=7).lookup(words)),
        plain(made(numbers, vocab_size=2).lookup(words)),
        plain(made(numbers, num_oov_buckets=5).lookup(words)),
        plain(made(numbers, num_oov_buckets=5).size()),
        plain(made(floats, key_dtype=tf.int64).lookup(keys)),
        plain(made(pairs(), default_value="n/a", key_dtype=tf.int64).lookup(keys)),
        told(lambda: made(pairs(), key_dtype=tf.int64)),
        *(told(lambda w=w: made(numbers, **w)) for w in wrong),
    ]


def indices() -> Any:
    made = tf.data.experimental.index_table_from_dataset
    words = tf.data.Dataset.from_tensor_slices(["b", "a", "c"])
    numbers = tf.data.Dataset.from_tensor_slices(tf.constant([30, 10, 20], tf.int64))
    asked = tf.constant(["a", "b", "z", "yy"])
    numbered = made(numbers, num_oov_buckets=4, key_dtype=tf.int64)
    return [
        plain(made(words).lookup(asked)),
        plain(made(words, num_oov_buckets=3).lookup(asked)),
        plain(made(words, default_value=100, vocab_size=2).lookup(tf.constant(["a", "c"]))),
        plain(made(numbers, key_dtype=tf.int64).lookup(tf.constant([10, 11], tf.int64))),
        plain(numbered.lookup(tf.constant([20, 21, 22], tf.int64))),
        told(lambda: made(numbers.batch(2), key_dtype=tf.int64)),
    ]


def optionals() -> Any:
    optional = tf.experimental.Optional
    spec = tf.OptionalSpec(tf.TensorSpec([], tf.int32))

    @tf.function(input_signature=[spec])
    def squared(value: Any) -> Any:
        if value.has_value():
            x = value.get_value()
            return x * x
        return -1

    @tf.function
    def handed_on(value: Any) -> Any:
        return value, optional.from_value((tf.constant([1.0]), {"a": tf.constant("b")}))

    full, empty = optional.from_value(5), optional.empty(tf.TensorSpec([], tf.int32))
    first, second = handed_on(full)
    same = tf.OptionalSpec.from_value(full)
    wide = tf.OptionalSpec(tf.TensorSpec([None], tf.int32))
    narrow = tf.OptionalSpec(tf.TensorSpec([3], tf.int32))
    nested = optional.from_value(tf.constant([1, 2]))
    dataset = tf.data.Dataset.range(3)
    iterator = iter(dataset)
    return [
        plain([squared(full), squared(empty)]),
        plain([first.has_value(), first.get_value()]),
        plain([second.get_value()[0], second.get_value()[1]["a"]]),
        [same == spec, spec == wide, hash(same) == hash(spec), isinstance(first, optional)],
        [wide.is_compatible_with(narrow), narrow.is_compatible_with(wide)],
        [wide.is_compatible_with(nested), narrow.is_compatible_with(nested)],
        [spec.value_type is type(full) or issubclass(spec.value_type, optional)],
        str(tf.type_spec_from_value(full) == spec),
        told(empty.get_value),
        [plain(iterator.get_next_as_optional().has_value()) for _ in range(4)],
    ]


PROGRAMS = {
    "initializers": initializers,
    "tables": tables,
    "indices": indices,
    "optionals": optionals,
}


if __name__ == "__main__":
    report(PROGRAMS)
