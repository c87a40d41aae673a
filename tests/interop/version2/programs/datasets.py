"""Datasets inside functions: pipelines as nodes of a graph, iterated in loops."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from casebook import case, numbers, texts

Data = tf.data.Dataset
FLOATS = tf.TensorSpec([None, 3], tf.float32, "x")
INTEGERS = tf.TensorSpec([None], tf.int64, "x")


def save(folder: Path, function: Any, spec: tf.TensorSpec, *children: Any) -> None:
    model = tf.Module()
    model.parts = list(children)
    model.run = tf.function(function, input_signature=[spec])
    tf.saved_model.save(model, str(folder), signatures=model.run)


def called(*values: Any) -> list[Any]:
    return [("serving_default", {"x": value}) for value in values]


@case("datasets")
def reduced(folder: Path) -> Any:
    """Slices mapped with a captured variable and summed."""
    scale = tf.Variable([1.0, 2.0, 3.0])

    def run(x: Any) -> Any:
        mapped = Data.from_tensor_slices(x).map(lambda row: row * scale)
        return {"sum": mapped.reduce(tf.zeros([3]), lambda total, row: total + row)}

    save(folder, run, FLOATS, scale)
    return called(numbers(4, 3), numbers(0, 3))


@case("datasets")
def batched(folder: Path) -> Any:
    """Full and partial batches in a loop of AutoGraph; an iterator per call."""

    def run(x: Any) -> Any:
        found = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        place = tf.constant(0)
        data = Data.from_tensor_slices(x)
        for batch in data.batch(2, num_parallel_calls=2).concatenate(data.batch(3, True)):
            found = found.write(place, tf.reduce_mean(batch, 0))
            place += 1
        return {"means": found.stack()}

    save(folder, run, FLOATS)
    return called(numbers(7, 3), numbers(2, 3))


@case("datasets")
def picked(folder: Path) -> Any:
    """take, skip, shard, repeat, filter, take_while, enumerate, zip, cache, prefetch, options."""

    def run(x: Any) -> Any:
        data = Data.from_tensor_slices(x).cache().prefetch(2)
        options = tf.data.Options()
        options.deterministic = True
        chosen = data.filter(lambda n: n % 3 != 0).skip(1).take(9).repeat(2)
        pairs = Data.zip((chosen.shard(2, 1), data.enumerate(5))).with_options(options)
        until = pairs.take_while(lambda n, _: n < 50)
        out = until.map(lambda n, pair: tf.stack([n, pair[0], pair[1]])).batch(100)
        return {"rows": out.get_single_element(), "count": data.repeat(3).cardinality()}

    save(folder, run, INTEGERS)
    return called(np.arange(20), np.arange(30) * 5)


@case("datasets")
def nested(folder: Path) -> Any:
    """flat_map, interleave in both orders, nested windows."""

    def run(x: Any) -> Any:
        data = Data.from_tensor_slices(x)

        def many(n: Any) -> Any:
            return Data.range(n % 4, output_type=tf.int64).map(lambda m: n * 10 + m)

        flat = data.flat_map(many).batch(1000)
        turns = data.interleave(many, cycle_length=2, block_length=2).batch(1000)
        more = data.interleave(
            many, cycle_length=3, num_parallel_calls=2, deterministic=True
        ).batch(1000)
        windows = data.window(3, shift=2, stride=2).flat_map(lambda w: w.batch(3)).unbatch()
        whole = data.window(4, drop_remainder=True).flat_map(lambda w: w.batch(4))
        return {
            "flat": flat.get_single_element(),
            "turns": turns.get_single_element(),
            "more": more.get_single_element(),
            "windows": windows.batch(1000).get_single_element(),
            "whole": whole.batch(1000).get_single_element(),
        }

    save(folder, run, INTEGERS)
    return called(np.arange(1, 10), np.array([7, 3, 5, 2, 11, 6, 1, 9]))


@case("datasets")
def padded(folder: Path) -> Any:
    """Padded rows of words; structures of several components."""

    def run(x: Any) -> Any:
        data = Data.from_tensor_slices(x).map(tf.strings.split, num_parallel_calls=2)
        both = data.map(lambda words: {"words": words, "lengths": tf.strings.length(words)})
        shapes = {"words": [None], "lengths": [6]}
        first = both.padded_batch(3, shapes, {"words": b"<pad>", "lengths": -1})
        out = next(iter(first))
        return {"words": out["words"], "lengths": out["lengths"]}

    save(folder, run, tf.TensorSpec([None], tf.string, "x"))
    return called(texts("one", "two of them", "and now five more words", "unseen"), texts("a b"))


@case("datasets")
def scanned(folder: Path) -> Any:
    """A running sum, unique elements, a range with a step, take_while."""

    def run(x: Any) -> Any:
        data = Data.from_tensor_slices(x)
        sums = data.scan(tf.constant(0, tf.int64), lambda total, n: (total + n, (total, n)))
        before, each = sums.batch(1000).get_single_element()
        steps = Data.range(20, 2, -3).apply(tf.data.experimental.assert_cardinality(6))
        iterator = iter(data.unique())
        total = tf.constant(0, tf.int64)
        for _ in tf.range(3):
            item = iterator.get_next_as_optional()
            if item.has_value():
                total += item.get_value()
        return {
            "before": before,
            "each": each,
            "steps": steps.batch(10).get_single_element(),
            "total": total,
        }

    save(folder, run, INTEGERS)
    return called(np.array([4, 4, 2, 4, 9, 9]), np.array([5, 5]))


@case("datasets")
def shuffled(folder: Path) -> Any:
    """The order is random: only results that do not depend on it are compared."""

    def run(x: Any) -> Any:
        data = Data.from_tensor_slices(x).shuffle(4, seed=3).repeat(2).batch(1000)
        return {"sorted": tf.sort(data.get_single_element())}

    save(folder, run, INTEGERS)
    return called(np.arange(9), np.array([3, 1]))


@case("datasets")
def beside(folder: Path) -> Any:
    """A function that reads a dataset of constants, beside a signature that reads none."""

    model = tf.Module()
    model.table = tf.Variable(numbers(3))

    @tf.function(input_signature=[])
    def mean() -> Any:
        data = Data.from_tensor_slices(np.arange(6, dtype=np.float32)).batch(4)
        return data.reduce(0.0, lambda total, batch: total + tf.reduce_sum(batch))

    model.mean = mean
    model.run = tf.function(lambda x: {"y": x * model.table}, input_signature=[FLOATS])
    signatures = {"serving_default": model.run, "mean": mean.get_concrete_function()}
    tf.saved_model.save(model, str(folder), signatures=signatures)
    return [*called(numbers(2, 3)), ("mean", {})]


@case("datasets")
def grouped(folder: Path) -> Any:
    """Windows and states by key; batches of other sizes; windows of other sizes."""

    def run(x: Any) -> Any:
        data = Data.from_tensor_slices(x)
        windows = data.group_by_window(
            lambda n: n % 3, lambda key, group: group.map(lambda n: n * 10 + key), window_size=2
        )
        reducer = tf.data.experimental.Reducer(
            lambda key: (key, tf.constant(0, tf.int64)),
            lambda state, n: (state[0], state[1] + n),
            lambda key, total: key * 1000 + total,
        )
        states = data.apply(tf.data.experimental.group_by_reducer(lambda n: n % 4, reducer))
        again = data.batch(5).rebatch([2, 3], drop_remainder=True)
        return {
            "windows": windows.batch(1000).get_single_element(),
            "states": states.batch(1000).get_single_element(),
            "sizes": again.map(tf.shape).batch(1000).get_single_element(),
            "rows": again.unbatch().batch(1000).get_single_element(),
        }

    save(folder, run, INTEGERS)
    return called(np.arange(10), np.array([5, 3, 8, 8, 1, 0]))


@case("datasets")
def chosen(folder: Path) -> Any:
    """Elements of several datasets chosen by a third, without failing ones, and at random."""

    def run(x: Any) -> Any:
        data = Data.from_tensor_slices(x)
        choice = Data.range(2).repeat(100)
        mixed = Data.choose_from_datasets(
            [data, data.map(lambda n: -n).repeat(2)], choice, stop_on_empty_dataset=False
        )

        def checked(n: Any) -> Any:
            most = tf.constant(3, n.dtype)
            with tf.control_dependencies([tf.debugging.assert_less(n % 5, most)]):
                return n + 1

        drawn = Data.random(seed=7).take(20).filter(lambda n: n < 0)
        return {
            "mixed": mixed.batch(1000).get_single_element(),
            "kept": data.map(checked).ignore_errors().batch(1000).get_single_element(),
            "none": drawn.reduce(tf.constant(0, tf.int64), lambda count, _: count + 1),
            "at": data.batch(2).take(1).get_single_element(),
        }

    save(folder, run, INTEGERS)
    return called(np.arange(12), np.array([4, 0, 7]))


@case("datasets")
def read_files(folder: Path) -> Any:
    """Lines, records and parts of the model's own asset files."""
    scratch = Path(tempfile.mkdtemp())
    lines, parts, records = (scratch / name for name in ("lines.txt", "parts", "records"))
    lines.write_bytes(b"one\r\ntwo words\n\nlast")
    parts.write_bytes(b"HHabcdefghiF")
    with tf.io.TFRecordWriter(str(records), "GZIP") as writer:
        for text in (b"first", b"", b"third" * 50):
            writer.write(text)
    model = tf.Module()
    model.lines, model.parts, model.records = (
        tf.saved_model.Asset(str(one)) for one in (lines, parts, records)
    )

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64, "x")])
    def run(x: Any) -> Any:
        data = tf.data.TextLineDataset(model.lines.asset_path).skip(x)
        pieces = tf.data.FixedLengthRecordDataset(model.parts.asset_path, 3, 2, 1)
        whole = tf.data.TFRecordDataset(model.records.asset_path, "GZIP")
        return {
            "lines": data.batch(10).get_single_element(),
            "parts": pieces.batch(10).get_single_element(),
            "records": whole.map(tf.strings.length).batch(10).get_single_element(),
        }

    model.run = run
    tf.saved_model.save(model, str(folder), signatures=model.run)
    return called(np.int64(0), np.int64(2))
