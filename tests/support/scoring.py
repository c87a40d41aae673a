"""Models and files of rows for the tests of `pinnace score`."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pinnace as tf

ROW = 4


def save_rowwise(folder: Path) -> Path:
    """A model of rows x float32[?, 4]: `doubled` is 2x, `total` their sum; exact for small ints."""

    class Rowwise(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, ROW], tf.float32, name="x")])
        def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"doubled": x * 2.0, "total": tf.reduce_sum(x, axis=1)}

    module = Rowwise()
    tf.saved_model.save(module, folder, signatures=module.serve)
    return folder


def save_rank(folder: Path) -> Path:
    """A model of rows of any length: `n` is the length, `reversed` the reversed row."""

    class AnyLength(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int64, name="ids")])
        def serve(self, ids: tf.Tensor) -> dict[str, tf.Tensor]:
            count = tf.shape(ids)[1]
            return {
                "n": tf.fill([tf.shape(ids)[0]], count),
                "reversed": tf.reverse(ids, [1]),
            }

    module = AnyLength()
    tf.saved_model.save(module, folder, signatures=module.serve)
    return folder


def rows_of(count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Rows of small integers, float32 [count, 4]."""
    drawn = np.random.default_rng(seed).integers(-1000, 1000, (count, ROW))
    return np.asarray(drawn, np.float32)


def write_parquet(path: Path, columns: Mapping[str, Any], **options: Any) -> Path:
    """A Parquet file; arrays with axes become lists."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = {
        name: list(value) if isinstance(value, np.ndarray) and value.ndim > 1 else value
        for name, value in columns.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(plain), path, **options)
    return path


def write_jsonl(path: Path, rows: Sequence[Any]) -> Path:
    """A line of JSON for each row; rows that are bytes already stay unchanged."""
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def write_csv(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """A CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    return path


def write_examples(path: Path, rows: Sequence[Mapping[str, Any]], compression: str = "") -> Path:
    """A TFRecord file of Examples."""
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for row in rows:
            example = tf.train.Example()
            for name, value in row.items():
                feature = example.features.feature[name]
                flat = np.asarray(value).reshape(-1)
                if flat.dtype.kind == "f":
                    feature.float_list.value.extend(flat.tolist())
                elif flat.dtype.kind in "iu":
                    feature.int64_list.value.extend(flat.tolist())
                else:
                    feature.bytes_list.value.extend(str(one).encode() for one in flat)
            writer.write(example.SerializeToString())
    return path


def read_results(path: Path) -> list[dict[str, Any]]:
    """The rows of a result file in any format, as Python values."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return found
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return [{k: _cell(v) for k, v in row.items()} for row in csv.DictReader(file)]
    rows = []
    for record in tf.data.TFRecordDataset(str(path)):
        features = tf.train.Example.FromString(record.numpy()).features.feature
        row = {}
        for name, feature in features.items():
            values = list(getattr(feature, feature.WhichOneof("kind")).value)
            row[name] = values[0] if len(values) == 1 else values
        rows.append(row)
    return rows


def _cell(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def bad_rows(folder: Path, target: str) -> list[tuple[int, str]]:
    """Indices and reasons of the bad rows of a result file."""
    path = folder / "_bad" / f"{target}.jsonl"
    if not path.exists():
        return []
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [(one["row"], one["reason"]) for one in found]


def visible_files(folder: Path) -> list[str]:
    """Every file below a folder, hidden ones too."""
    return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())
