"""Every input format with every output format: the rows, and the loaded model's results."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from support.command_line import pinnace
from support.golden import FOLDER
from support.scoring import (
    read_results,
    rows_of,
    write_csv,
    write_examples,
    write_jsonl,
    write_parquet,
)

COUNT = 37
X = rows_of(COUNT)
IDS = [f'row {n}, "quoted"' for n in range(COUNT)]


def write_input(folder: Path, kind: str) -> Path:
    """The same rows, written in a format."""
    path = folder / f"rows.{kind}"
    lists = [{"id": name, "x": x.tolist()} for name, x in zip(IDS, X, strict=True)]
    if kind == "parquet":
        return write_parquet(path, {"id": IDS, "x": X}, row_group_size=10)
    if kind == "jsonl":
        return write_jsonl(path, lists)
    if kind == "jsonl.gz":
        plain = write_jsonl(folder / "plain", lists)
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
        return path
    if kind == "csv":
        cells = [[name, str(x.tolist())] for name, x in zip(IDS, X, strict=True)]
        return write_csv(path, ["id", "x"], cells)
    if kind == "npz":
        np.savez(path, id=np.array(IDS), x=X)
        return path
    if kind == "npy":
        np.save(path, X)
        return path
    return write_examples(path, lists, "GZIP" if kind.endswith("gz") else "")


@pytest.mark.parametrize("out", ["parquet", "jsonl", "csv", "tfrecord"])
@pytest.mark.parametrize(
    "kind", ["parquet", "jsonl", "jsonl.gz", "csv", "npz", "tfrecord", "tfrecord.gz"]
)
def test_every_format_becomes_every_format(
    kind: str, out: str, rowwise: Path, tmp_path: Path
) -> None:
    path = write_input(tmp_path, kind)
    answer = pinnace(
        *("score", rowwise, "--input", path, "--output", tmp_path / "out", "--keep", "id"),
        *("--format", out, "--batch-size", "8"),
    )
    assert answer.code == 0, answer.err
    found = read_results(tmp_path / "out" / f"rows.{out}")
    ids = [one["id"].decode() if isinstance(one["id"], bytes) else one["id"] for one in found]
    assert ids == IDS
    np.testing.assert_array_equal([one["doubled"] for one in found], X * 2)
    np.testing.assert_array_equal([one["total"] for one in found], X.sum(1))


def test_rows_without_names_go_to_the_only_input(rowwise: Path, tmp_path: Path) -> None:
    write_input(tmp_path, "npy")
    write_jsonl(tmp_path / "bare.jsonl", X.tolist())
    answer = pinnace("score", rowwise, "--input", tmp_path, "--output", tmp_path / "out")
    assert answer.code == 0, answer.err
    for name in ("rows.jsonl", "bare.jsonl"):
        found = read_results(tmp_path / "out" / name)
        np.testing.assert_array_equal([one["doubled"] for one in found], X * 2)


@pytest.mark.parametrize(
    ("kind", "wanted"), [("parquet", "parquet"), ("csv", "csv"), ("npz", "jsonl")]
)
def test_results_are_of_the_format_of_the_input(
    kind: str, wanted: str, rowwise: Path, tmp_path: Path
) -> None:
    path = write_input(tmp_path, kind)
    pinnace("score", rowwise, "--input", path, "--output", tmp_path / "out")
    assert (tmp_path / "out" / f"rows.{wanted}").is_file()


def recorded_call(name: str) -> tuple[Any, dict[str, np.ndarray[Any, Any]]]:
    """A signature that TensorFlow saved, and the recorded inputs of its first call."""
    model = tf.saved_model.load(FOLDER / "saved_models" / name / "model")
    with np.load(FOLDER / "saved_models" / name / "io.npz") as file:
        keys = [key for key in sorted(file.files) if "/serving_default/in/" in key]
        first = keys[0].partition("/")[0]
        inputs = {key.rpartition("/")[2]: file[key] for key in keys if key.startswith(f"{first}/")}
    return model.signatures["serving_default"], inputs


@pytest.mark.parametrize("name", ["keras_mlp", "keras_cnn", "keras_lstm", "multi_io"])
def test_numbers_are_those_of_the_loaded_model(name: str, tmp_path: Path) -> None:
    signature, inputs = recorded_call(name)
    repeated = {key: np.concatenate([value] * 7) for key, value in inputs.items()}
    wanted = signature(**{key: tf.constant(value) for key, value in repeated.items()})
    flat = {key: value.reshape(len(value), -1) for key, value in repeated.items()}
    write_parquet(tmp_path / "in.parquet", flat)  # Parquet has flat rows
    answer = pinnace(
        *("score", FOLDER / "saved_models" / name / "model", "--input", tmp_path / "in.parquet"),
        *("--output", tmp_path / "out", "--batch-size", "5"),
    )
    assert answer.code == 0, answer.err
    found = read_results(tmp_path / "out" / "in.parquet")
    assert set(found[0]) == set(wanted)
    for key, value in wanted.items():
        column = value[:, 0] if value.shape[1:] == [1] else value
        # Products of other batch sizes sum in another order.
        np.testing.assert_allclose([one[key] for one in found], column, 2e-5, 1e-6)


def test_a_model_that_parses_examples_is_given_the_records(tmp_path: Path) -> None:
    class Parses(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
        def serve(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
            found = tf.io.parse_example(examples, {"x": tf.io.FixedLenFeature([4], tf.float32)})
            return {"total": tf.reduce_sum(found["x"], axis=1)}

    module = Parses()
    tf.saved_model.save(module, tmp_path / "model", signatures=module.serve)
    path = write_examples(tmp_path / "in.tfrecord", [{"x": x} for x in X])
    answer = pinnace(
        "score", tmp_path / "model", "--input", path, "--output", tmp_path / "out", "--format=jsonl"
    )
    assert answer.code == 0, answer.err
    found = read_results(tmp_path / "out" / "in.jsonl")
    assert [one["total"] for one in found] == X.sum(1).tolist()


def test_texts_are_bytes_for_the_model_and_text_in_results(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "in.jsonl", ["grün", {"b64": "AP8="}, "b"])
    model = FOLDER / "saved_models" / "dtypes" / "model"
    signature = tf.saved_model.load(model).signatures["strings"]
    (name,) = signature.structured_input_signature[1]
    wanted = signature(**{name: tf.constant(["grün".encode(), b"\x00\xff", b"b"])})
    answer = pinnace(
        *("score", model, "--signature", "strings", "--input", path, "--output", tmp_path / "out")
    )
    assert answer.code == 0, answer.err
    found = read_results(tmp_path / "out" / "in.jsonl")
    upper = wanted["upper"].numpy()
    assert found[0]["upper"].encode() == upper[0]
    assert found[1]["upper"] == {"b64": "AP8="}


def test_pictures_become_rows_with_the_name_of_their_file(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "photos" / "cats"
    folder.mkdir(parents=True)
    pixels = np.random.default_rng(0).integers(0, 255, (3, 16, 16, 3), np.uint8)
    for index, one in enumerate(pixels):
        image.fromarray(one).save(folder / f"{index}.png")
    (folder / "broken.png").write_bytes(b"no picture")
    model = FOLDER / "saved_models" / "keras_cnn" / "model"
    answer = pinnace(
        *("score", model, "--input", tmp_path / "photos", "--output", tmp_path / "out"),
        *("--image-scale", "1"),
    )
    assert answer.code == 3, answer.err
    found = read_results(tmp_path / "out" / "cats.jsonl")
    assert [one["file"] for one in found] == [f"cats/{n}.png" for n in range(3)]
    signature = tf.saved_model.load(model).signatures["serving_default"]
    (name,) = signature.structured_input_signature[1]
    (wanted,) = signature(**{name: tf.constant(pixels.astype(np.float32) / 255)}).values()
    (key,) = set(found[0]) - {"file"}
    np.testing.assert_allclose([one[key] for one in found], wanted.numpy(), 2e-5, 1e-6)


def test_kept_columns_have_the_types_they_had(rowwise: Path, tmp_path: Path) -> None:
    import datetime as dt
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    kept = {
        "day": pa.array([dt.date(2026, 1, 1), None]),
        "at": pa.array([dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)] * 2, pa.timestamp("us", "UTC")),
        "price": pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.25")]),
        "kind": pa.array(["a", "b"]).dictionary_encode(),
        "nested": pa.array([{"a": [1, 2]}, None]),
    }
    pq.write_table(pa.table({**kept, "x": list(rows_of(2))}), tmp_path / "in.parquet")
    arguments = ["score", rowwise, "--input", tmp_path / "in.parquet", "--keep", ",".join(kept)]
    assert pinnace(*arguments, "--output", tmp_path / "out").code == 0
    table = pq.read_table(tmp_path / "out" / "in.parquet")
    for name, column in kept.items():
        assert table.schema.field(name).type == column.type
        assert table[name].to_pylist() == column.to_pylist()
    assert pinnace(*arguments, "--output", tmp_path / "text", "--format", "jsonl").code == 0
    first = read_results(tmp_path / "text" / "in.jsonl")[0]
    assert (first["day"], first["price"], first["kind"]) == ("2026-01-01", "1.50", "a")


@pytest.mark.parametrize("out", ["parquet", "jsonl", "csv", "tfrecord"])
def test_a_file_without_rows_becomes_one(out: str, rowwise: Path, tmp_path: Path) -> None:
    write_parquet(tmp_path / "in.parquet", {"id": np.zeros(0, np.int32), "x": rows_of(1)[:0]})
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("id", pa.int32()), ("x", pa.list_(pa.float32()))])
    pq.write_table(schema.empty_table(), tmp_path / "in.parquet")
    answer = pinnace(
        *("score", rowwise, "--input", tmp_path / "in.parquet", "--output", tmp_path / "out"),
        *("--keep", "id", "--format", out),
    )
    assert answer.code == 0, answer.err
    assert read_results(tmp_path / "out" / f"in.{out}") == []
    if out == "parquet":
        found = pq.read_schema(tmp_path / "out" / "in.parquet")
        assert found.names == ["id", "doubled", "total"]
        assert found.field("id").type == pa.int32()
        assert found.field("doubled").type == pa.list_(pa.float32())


def test_numbers_that_json_has_not_are_written_as_tf_serving_writes_them(
    rowwise: Path, tmp_path: Path
) -> None:
    x = np.array([[np.nan, 1, 2, 3], [np.inf, 0, 0, 0], [0.1, 0, 0, 0]], np.float32)
    np.save(tmp_path / "in.npy", x)
    for kind in ("jsonl", "csv"):
        out = tmp_path / kind
        pinnace("score", rowwise, "--input", tmp_path / "in.npy", "--output", out, "--format", kind)
        found = read_results(out / f"in.{kind}")
        np.testing.assert_array_equal(
            np.array([one["doubled"] for one in found], np.float32), x * 2
        )


def test_numbers_are_as_short_as_they_are_exact(rowwise: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.array([[0.1, 0, 0, 0]], np.float32))
    pinnace("score", rowwise, "--input", tmp_path / "in.npy", "--output", tmp_path / "out")
    assert (tmp_path / "out" / "in.jsonl").read_text() == (
        '{"doubled":[0.2,0.0,0.0,0.0],"total":0.1}\n'
    )


class OneEach(tf.Module):
    """Outputs with one value per row, and one with two."""

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        total = tf.reduce_sum(x, axis=1, keepdims=True)
        return {
            "total": total,
            "word": tf.strings.as_string(tf.cast(total, tf.int32)),
            "large": total > 0,
            "both": tf.concat([total, total], 1),
        }


@pytest.mark.parametrize("rows", [0, 37])
def test_an_output_of_one_value_is_a_column_of_a_table(rows: int, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tf.saved_model.save(module := OneEach(), tmp_path / "model", signatures=module.serve)
    x = rows_of(COUNT)[:rows, :3]
    write_parquet(tmp_path / "in.parquet", {"x": x})
    for out in ("parquet", "csv", "jsonl"):
        answer = pinnace(
            *("score", tmp_path / "model", "--input", tmp_path / "in.parquet", "--batch-size", "8"),
            *("--output", tmp_path / out, "--format", out),
        )
        assert answer.code == 0, answer.err
    totals = x.sum(1)
    table = pq.read_table(tmp_path / "parquet" / "in.parquet")
    kinds = {name: table.schema.field(name).type for name in table.column_names}
    assert kinds == {
        "both": pa.list_(pa.float32()),
        "large": pa.bool_(),
        "total": pa.float32(),
        "word": pa.string(),
    }
    np.testing.assert_allclose(table["total"].to_numpy(), totals, rtol=1e-6)  # sums of three
    assert table["word"].to_pylist() == [str(int(total)) for total in totals]
    lines = (tmp_path / "csv" / "in.csv").read_text().splitlines()
    assert lines[0].split(",") == ["both", "large", "total", "word"]
    cells = [line.rsplit(",", 3) for line in lines[1:]]
    np.testing.assert_allclose([float(cell[2]) for cell in cells], totals, rtol=1e-6)
    assert [cell[1] for cell in cells] == ["true" if total > 0 else "false" for total in totals]
    for line in read_results(tmp_path / "jsonl" / "in.jsonl"):
        assert len(line["total"]) == 1  # as in TensorFlow Serving's instances
