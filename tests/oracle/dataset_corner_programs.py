"""Edge cases of datasets from TensorFlow's own unit tests; see `both`.

python dataset_corner_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
D = tf.data.Dataset


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if hasattr(x, "element_spec"):
        return [plain(item) for item in x]
    if isinstance(x, bytes):
        return x.decode()
    if hasattr(x, "to_list"):
        return plain(x.to_list())
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    return plain(x.numpy().tolist()) if hasattr(x, "numpy") else plain(np.asarray(x).tolist())


def told(call: Any, *phrases: str) -> Any:
    """The result of a call, or the class of its error and the phrases that it contains."""
    try:
        return plain(call())
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        kind, text = "ValueError", str(error)  # here the second class derives from the first
    except (tf.errors.OpError, LookupError, RuntimeError, TypeError, AttributeError) as error:
        kind, text = type(error).__name__, str(error)
    return [kind, *(phrase for phrase in phrases if phrase in text)]


def of_datasets() -> Any:
    three = [D.range(n, n + 3) for n in range(3)]
    one, rows = D.from_tensors(D.range(4)), D.from_tensor_slices(three)
    pairs = D.from_tensors((7, D.range(3)))
    together = D.from_tensors(three)
    named = D.from_tensor_slices([D.range(2).map(lambda x: {"x": x})] * 2)
    return [
        *(repr(d.element_spec) for d in (one, rows, pairs, together, named, rows.take(2))),
        plain(one),
        plain(rows),
        plain(rows.flat_map(lambda x: x)),
        plain(pairs.flat_map(lambda n, d: d.map(lambda x, n=n: x + tf.cast(n, tf.int64)))),
        plain(together.unbatch().flat_map(lambda x: x)),
        plain(together.flat_map(D.from_tensor_slices).flat_map(lambda x: x)),
        plain(named.flat_map(lambda x: x)),
        plain(one.repeat(3).interleave(lambda x: x, cycle_length=2)),
        plain(tf.data.experimental.at(one, 0)),
        told(lambda: D.from_tensor_slices([D.range(2), D.from_tensors("a")])),
        told(lambda: next(one.as_numpy_iterator())),
        told(lambda: one.padded_batch(2), "`padded_batch` is not supported for datasets of"),
    ]


def by_number() -> Any:
    at = tf.data.experimental.at
    d, mixed = D.range(10), D.range(20).shuffle(20, seed=3)
    many = sorted(int(at(mixed, n)) for n in range(20))
    return [
        [told(lambda n=n: at(d, n), "Index out of range [0, 10)") for n in (-2, -1, 0, 9, 10)],
        [told(lambda n=n: at(d.batch(4), n), "Index out of range [0, 3)") for n in (-1, 2, 3)],
        told(lambda: at(d.repeat(), 0)),
        [told(lambda n=n: at(d.repeat().cache(), n)) for n in (0, 25)],
        told(lambda: at(d.take(0), -1)),
        many,
        [int(at(mixed, 5)) == int(at(mixed, 5)) for _ in range(5)],
    ]


def other_batches() -> Any:
    d = D.range(12)
    ragged = tf.ragged.constant([[1, 2], [3], [], [4]])
    found = []
    for sizes in (2, 3, 4, [2, 2], [2, 1], [1, 0, 2]):
        for drop in (False, True):
            for source in (d.batch(4, True), d.batch(4), d.take(7).batch(4)):
                made = source.rebatch(sizes, drop_remainder=drop)
                found.append([repr(made.element_spec), plain(made)])
    texts = D.from_tensor_slices(ragged).batch(4, True)
    return [
        found,
        *([repr(d.element_spec), plain(d)] for d in (texts.rebatch(3), texts.rebatch(2))),
        told(lambda: d.rebatch(2)),
    ]


def sorted_out() -> Any:
    d = D.range(10)
    return [
        plain(D.sample_from_datasets([d, d], [0.0, 0.0])),
        told(lambda: D.sample_from_datasets([d, d], [0.5]), "should have the same length"),
        told(lambda: D.choose_from_datasets([d], D.from_tensors(1.0)), "tf.int64"),
        told(lambda: d.get_single_element(), "Dataset had more than one element."),
        told(lambda: d.take(0).get_single_element(), "Dataset was empty."),
        told(tf.function(lambda: d.take(1).get_single_element())),
        told(tf.function(lambda: d.take(2).get_single_element()), "more than one element"),
        told(tf.function(lambda: d.take(0).get_single_element()), "was empty"),
        told(lambda: D.list_files("/no/such/*"), "No files matched"),
        told(lambda: d.concatenate(D.from_tensors("a")), "Incompatible dataset elements"),
        told(lambda: d.scan(1, lambda _, x: x), "`scan_func` should return a pair"),
        told(
            lambda: d.scan(1, lambda _, x: (x, x)),
            "The element types for the new state must match the initial state",
        ),
    ]


def padded() -> Any:
    d, three = D.range(10), D.from_tensors([1, 2, 3])
    sparse = D.from_tensors(tf.sparse.from_dense([[1]]))
    found = [
        (lambda: d.padded_batch(5, [1]), "The padded shape (1,) is not compatible with the shape"),
        (lambda: three.padded_batch(5, [1]), "(1,) is not compatible with the shape (3,)"),
        (lambda: three.padded_batch(5, [[1, 1], [1, 1]]), "but its shape was (2, 2)"),
        (lambda: three.padded_batch(5, tf.constant([1.5])), "but its element type was float32"),
        (lambda: sparse.padded_batch(5), "is only supported for datasets that produce tensor"),
    ]
    return [*(told(*case) for case in found), plain(three.padded_batch(2, [4])), plain(d.take(1))]


def arrays() -> Any:
    d = D.range(4)
    array = tf.TensorArray(tf.int64, 0, dynamic_size=True)

    @tf.function
    def doubled(d: Any) -> Any:
        array = tf.TensorArray(tf.int64, 0, dynamic_size=True)
        for x in d:
            array = array.write(array.size(), x * 2)
        return array.stack()

    def running(array: Any, x: Any) -> Any:
        array = array.write(array.size(), x)
        return array, tf.reduce_sum(array.stack())

    start = tf.TensorArray(tf.int64, 0, dynamic_size=True)
    return [
        plain(doubled(d)),
        plain(d.reduce(array, lambda array, x: array.write(array.size(), x)).stack()),
        plain(d.scan(start, running)),
    ]


def letters(codes: Any) -> Any:
    value = tf.compat.v1.SparseTensorValue
    places = [[0, n] for n in range(len(codes))]
    return value(np.array(places, np.int64), np.array(codes), np.array([1, len(codes)], np.int64))


def sparse_arrays() -> Any:
    value = tf.compat.v1.SparseTensorValue([[0, 1]], [5], [2, 3])
    d = D.from_tensors((value, 7))
    case = tf.test.TestCase()
    sparse = case.evaluate(tf.sparse.from_dense([[0, 3]]))
    return [
        repr(d.element_spec),
        plain([tf.sparse.to_dense(x) for x, _ in d]),
        plain([tf.sparse.to_dense(x) for x in D.from_tensor_slices(value)]),
        [type(sparse).__name__, plain(sparse.indices), plain(sparse.values)],
        plain(tf.ragged.cross([value, tf.constant([["a"], ["b"]])])),
        plain(tf.raw_ops.Cast(x=[1.5], DstT=3)),
        [plain(f(tf.sparse.from_dense([[0, 3, 0]]))) for f in (tf.shape, tf.size, tf.rank)],
        plain(tf.shape(tf.sparse.from_dense([[0, 3]]), tf.int64)),
        plain(tf.edit_distance(letters([1, 2]), letters([1, 2, 3]))),
        plain(
            D.from_tensor_slices(tf.sparse.from_dense([[1, 2, 0], [3, 0, 0]])).map(
                lambda x: tf.shape(x)[0]
            )
        ),
    ]


def nothing_in_a_place() -> Any:
    d = D.range(4)
    n = d.map(lambda x: (x, None))

    @tf.function
    def total(d: Any) -> Any:
        found = tf.constant(0, tf.int64)
        for x, _ in d:
            found += x
        return found

    made = [
        *(n, n.batch(2), n.batch(2).unbatch(), n.batch(4, True).rebatch(2)),
        *(D.from_tensors((1, None)), D.from_tensors({"a": 1, "b": None}).repeat(2)),
        *(n.map(lambda a, b: (a + 1, b)), n.filter(lambda a, _: a > 1), n.enumerate()),
        *(n.flat_map(lambda a, b: D.from_tensors((a, b))), D.zip((n, d)), n.take(2).cache()),
    ]
    return [
        [[repr(one.element_spec), plain(one)] for one in made],
        plain(list(n.batch(2).as_numpy_iterator())),
        plain(n.reduce(0, lambda s, _: s + 1)),
        plain(total(n)),
    ]


def datasets_from_functions() -> Any:
    d = D.range(4)
    m = d.map(D.range)
    ragged = D.from_tensor_slices(tf.ragged.constant([[1, 2], [3], []]))
    both = d.map(lambda x: (x, D.range(x)))
    return [
        repr(m.element_spec),
        plain(m),
        repr(m.batch(3).element_spec),
        plain(m.flat_map(lambda x: x)),
        plain(both.flat_map(lambda a, d: d.map(lambda x: x + a))),
        plain(ragged.flat_map(D.from_tensors)),
    ]


PROGRAMS = {
    "nothing in a place": nothing_in_a_place,
    "datasets from functions": datasets_from_functions,
    "arrays": arrays,
    "sparse arrays": sparse_arrays,
    "of datasets": of_datasets,
    "by number": by_number,
    "other batches": other_batches,
    "sorted out": sorted_out,
    "padded": padded,
}


if __name__ == "__main__":
    report(PROGRAMS)
