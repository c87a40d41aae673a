"""Edge cases of ops from TensorFlow's own unit tests; see `both`.

python corner_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
THEIRS = sys.argv[1] == "tensorflow"


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, bytes):
        return x.hex()
    if isinstance(x, float):  # JSON has no infinity
        return x if np.isfinite(x) else str(x)
    if x is None or isinstance(x, (str, bool, int)):
        return x
    if hasattr(x, "to_list"):
        return plain(x.to_list())
    array = np.asarray(x)
    return [str(array.dtype), list(array.shape), plain(array.reshape(-1).tolist())]


def told(call: Any, *phrases: str) -> Any:
    """The result of a call, or the class of its error and the phrases that it contains."""
    try:
        return plain(call())
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        kind = "ValueError"  # here the second class derives from the first
        text = str(error)
    except (tf.errors.OpError, LookupError, RuntimeError, TypeError, AttributeError) as error:
        kind, text = type(error).__name__, str(error)
    return [kind, *(phrase for phrase in phrases if phrase in text)]


def random(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def cosines_of_unknown_sizes() -> Any:
    x = random(3, 7)
    found = []
    for spec in ([3, None], [None, None]):
        for kind in (1, 2, 3, 4):
            for norm in (None, "ortho")[: 1 if kind == 1 else 2]:
                for n in (None, 5, 9):
                    # TensorFlow slices only known axes.
                    wanted = [3, 7] if n and THEIRS else spec

                    @tf.function(input_signature=[tf.TensorSpec(wanted, tf.float32)])
                    def run(x: Any, n: Any = n, kind: int = kind, norm: Any = norm) -> Any:
                        return tf.signal.dct(x, kind, n, norm=norm)

                    found.append(plain(run(x)))
    there = tf.function(tf.signal.inverse_mdct)
    windows = [
        plain(tf.function(lambda n, w=w, p=p: w(n, *p))(tf.constant(n)))
        for w, p in (
            (tf.signal.hann_window, (True,)),
            (tf.signal.hann_window, (False,)),
            (tf.signal.hamming_window, (True, tf.float64)),
            (tf.signal.vorbis_window, ()),
        )
        for n in (1, 2, 7, 8)
    ]
    frames = tf.signal.mdct(random(64), 16)
    spec = tf.TensorSpec([None, 8 if THEIRS else None], tf.float32)
    return [
        found,
        windows,
        plain(there.get_concrete_function(spec)(frames)),
        told(lambda: tf.signal.dct(x, axis=0)),
    ]


def values_before_the_choice() -> Any:
    found = []
    for shape, k, recall, whole in (
        ([100], 3, 0.95, -1),
        ([5000], 1, 0.95, -1),
        ([5000], 10, 0.95, -1),
        ([5000], 10, 1.0, -1),
        ([2, 2452], 2, 0.5, 245200),
        ([2, 700], 2, 0.9, 22900),
        ([2, 640], 10, 0.99, -1),
    ):
        x = np.random.default_rng(1).permutation(int(np.prod(shape))).reshape(shape)

        def run(x: Any, k: int = k, recall: float = recall, whole: int = whole) -> Any:
            return tf.math.approx_max_k(x, k, -1, recall, whole, False)

        call = tf.function(run, jit_compile=True)
        values, at = call(tf.constant(x, tf.float32))
        chosen = np.take_along_axis(x, np.asarray(at), -1)
        spec = call.get_concrete_function(tf.TensorSpec(shape, tf.float32)).outputs[0].shape
        found.append([list(values.shape), list(spec), bool(np.all(chosen == values))])
    return found


def horizons() -> Any:
    found = [tf.compat.forward_compatible(2020, 1, 1), tf.compat.forward_compatible(2090, 1, 1)]
    with tf.compat.forward_compatibility_horizon(2090, 1, 2):
        found.append(tf.compat.forward_compatible(2090, 1, 1))
        found.append(tf.compat.forward_compatible(2090, 1, 2))
    return [*found, tf.compat.forward_compatible(2090, 1, 1)]


def integers_of_other_ranges() -> Any:
    kinds = (tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32)
    numbers = (-1, 300, 70000, 2**31, 2**32 + 5, -(2**40), 2**63 - 1)
    found = [told(lambda d=d, v=v: tf.constant(v, d)) for d in kinds for v in numbers]
    wide = (2**63, -(2**63) - 1)
    return [
        found,
        [told(lambda d=d: tf.constant([[2**40, -1], [3, 4]], d)) for d in kinds],
        [told(lambda d=d: tf.ones([1], d) + 300) for d in kinds],
        [told(lambda d=d: tf.Variable([-1], dtype=d)) for d in kinds],
        [told(tf.function(lambda d=d: tf.constant([-1, 2**33], d))) for d in kinds],
        [told(lambda v=v: tf.constant(v), "out-of-range integer") for v in wide],
        told(lambda: tf.constant([1, 2.5], tf.int32)),
        plain(tf.pad(np.array([1], np.uint8), [[1, 1]], constant_values=-123)),
    ]


def empty_and_odd() -> Any:
    ends = tf.constant([-1e40, 1e40, np.inf, -np.inf, 2.0], tf.float64)
    example = tf.train.Example().SerializeToString()
    feature = tf.io.FixedLenFeature([1, 3], tf.int64, [42, 43, 44])
    solve = tf.linalg.tridiagonal_solve
    singular = tf.constant([[[3.0, 0.0], [1.0, 3.0], [0.0, 1.0]], [[3.0, 0.0], [1.0, 5.0], [0, 1]]])
    return [
        told(lambda: tf.reshape(tf.zeros([0, 6]), [0, -1, 3])),
        told(lambda: tf.reshape(tf.zeros([0, 6]), [-1, 0])),
        told(lambda: tf.reshape(tf.zeros([0, 6]), [-1, 3])),
        told(lambda: tf.reshape(tf.zeros([0, 6]), [0, -1, 4])),
        [plain(f(tf.saturate_cast(ends, tf.complex64))) for f in (tf.math.real, tf.math.imag)],
        plain(tf.math.imag(tf.saturate_cast(tf.constant([1 - 1e40j]), tf.complex64))),
        [told(lambda: tf.reduce_all([])), told(lambda: tf.reduce_any([]))],
        plain(
            tf.raw_ops.ScatterNdNonAliasingAdd(
                input=[True, False, False], indices=[[1], [1]], updates=[True, False]
            )
        ),
        plain(tf.io.parse_example([example], {"a": feature})["a"]),
        told(lambda: solve(singular, tf.constant([[1.0, 4.0], [1.0, 4.0]]))),
        told(lambda: solve(tf.zeros([3, 1]), tf.constant([1.0]))),
    ]


def phrases() -> Any:
    x, m = tf.constant([1.0, 2.0]), tf.constant([[1, 2], [3, 4]])
    n = tf.constant(np.arange(24).reshape(2, 3, 4))
    ids = tf.constant([0, 2, 1])
    s = tf.SparseTensor([[1, 9], [0, 0]], [1, 2], [2, 3])
    seven = list(range(7))
    cases = [
        (lambda: tf.math.segment_sum([1, 2, 3], ids), "segment ids are not increasing"),
        (lambda: tf.math.segment_sum([1, 2, 3], tf.constant([-1, 0, 1])), "Segment id -1 out of"),
        (lambda: tf.math.segment_sum([1, 2, 3], tf.constant([0, 0, -1])), "must be >= 0"),
        (lambda: tf.math.segment_sum([1, 2, 3], tf.constant([0, 0, -2])), "must be >= 0"),
        (
            lambda: tf.math.unsorted_segment_sum([1, 2], [0, 5], 2),
            "segment_ids[1] = 5 is out of range [0, 2)",
        ),
        (lambda: tf.constant(seven, shape=[10]), ""),
        (lambda: tf.constant(seven, shape=[5]), ""),
        (lambda: tf.gather_nd(m, [[0, 7]]), "does not index into param shape"),
        (lambda: tf.roll(m, [1], [0, 1]), "must have the same size"),
        (lambda: tf.roll(m, [[1]], [0]), "must be a scalar or a 1-D vector"),
        (lambda: tf.roll(tf.constant(1), 1, 0), "must be 1-D or higher"),
        (lambda: tf.transpose(n, [[0, 1, 2]]), ""),
        (lambda: tf.pad(x, [[-1, 0]]), "must be non-negative"),
        (lambda: tf.pad(x, [[1, 0], [1, 1]]), "must be the rank of inputs"),
        (lambda: tf.pad(x, [[1]]), "must be a matrix with 2 columns"),
        (lambda: tf.scatter_nd([[0, 0]], [1], [0, 3]), "updates specified for empty"),
        (lambda: tf.sets.size(tf.SparseTensor([[1, 0], [0, 0]], [1, 2], [2, 3])), "out of order"),
        (lambda: tf.sparse.to_dense(s), "is out of bounds"),
        (lambda: tf.math.bincount([-1]), "non-negative"),
    ]
    return [told(*case) for case in cases]


def folders_of_others() -> Any:
    folder = Path(sys.argv[2], "managed")
    shutil.rmtree(folder, ignore_errors=True)
    first = tf.train.Checkpoint(v=tf.Variable(1.0))
    paths = [first.save(str(folder / "unusual")) for _ in range(2)]
    second = tf.train.Checkpoint(v=tf.Variable(2.0))
    manager = tf.train.CheckpointManager(second, str(folder), max_to_keep=2)
    second.restore(manager.latest_checkpoint)
    found = [Path(manager.latest_checkpoint).name, len(manager.checkpoints), second.v.numpy()]
    paths += [manager.save() for _ in range(3)]
    found.append([Path(path).name for path in manager.checkpoints])
    third = tf.train.CheckpointManager(second, str(folder), max_to_keep=1)
    found.append([Path(path).name for path in third.checkpoints])
    paths.append(third.save())
    there = [bool(tf.io.gfile.exists(f"{path}.index")) for path in paths]
    return plain([*found[:2], float(found[2]), *found[3:], there])


@tf.function
def changes_dtype(n: Any) -> Any:
    while n < 3:
        n = tf.cast(n, tf.float32) + 1.0
    return n


@tf.function
def changes_shape(n: Any) -> Any:
    t = tf.constant([0])
    for _ in tf.range(n):
        t = tf.concat([t, t], 0)[:2]
        t = tf.ensure_shape(t, [2])
    return t


@tf.function
def half(x: Any) -> Any:
    if x > 0:
        y = 1
    return y


@tf.function
def half_of_a_dict(x: Any) -> Any:
    d = {}
    if x > 0:
        d["b"] = 1
    return d["b"]


@tf.function
def returns_half(x: Any) -> Any:
    if x > 0:
        return 1
    return None


def loop_words() -> Any:
    one = tf.constant(1)
    return [
        told(lambda: changes_dtype(one), "'n' has dtype int32 before the loop, but dtype float32"),
        told(lambda: changes_shape(one), "'t' has shape (1,) before the loop, but shape (2,)"),
        told(lambda: half(one), "'y' must also be initialized in the else branch"),
        told(lambda: half_of_a_dict(one), "'d['b']' must also be initialized in the else"),
        told(lambda: returns_half(one)),
    ]


def with_asset(path: Path) -> Any:
    model = tf.Module()
    model.asset = tf.saved_model.Asset(str(path))
    model.fn = tf.function(lambda: tf.io.read_file(model.asset))
    return model


def assets() -> Any:
    folder = Path(sys.argv[2])
    found = []
    for label in ("first", "second"):
        (folder / "asset").write_text(label)
        model = with_asset(folder / "asset")
        found.append(plain(model.fn().numpy()))
        tf.saved_model.save(model, str(folder / "with asset"))
        found.append(plain(tf.saved_model.load(str(folder / "with asset")).fn().numpy()))
    return found


PROGRAMS = {
    "assets": assets,
    "loop words": loop_words,
    "folders of others": folders_of_others,
    "phrases": phrases,
    "integers of other ranges": integers_of_other_ranges,
    "empty and odd": empty_and_odd,
    "horizons": horizons,
    "cosines of unknown sizes": cosines_of_unknown_sizes,
    "values before the choice": values_before_the_choice,
}


if __name__ == "__main__":
    report(PROGRAMS)
