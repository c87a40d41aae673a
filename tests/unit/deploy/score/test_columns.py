"""Columns become inputs by name, by `--features`, or by shape; otherwise an error says why."""

from pathlib import Path

import numpy as np
import pytest

import pinnace as tf
from support.command_line import pinnace
from support.golden import FOLDER
from support.scoring import (
    bad_rows,
    read_results,
    rows_of,
    visible_files,
    write_csv,
    write_jsonl,
    write_parquet,
)

X = rows_of(9)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_scalar_columns_are_put_side_by_side(kind: str, rowwise: Path, tmp_path: Path) -> None:
    columns = dict(zip("dcba", X.T, strict=True))
    rows = X.tolist()
    if kind == "csv":
        write_csv(tmp_path / "in.csv", "dcba", rows)
    elif kind == "parquet":
        write_parquet(tmp_path / "in.parquet", columns)
    else:
        write_jsonl(tmp_path / "in.jsonl", [dict(zip("dcba", row, strict=True)) for row in rows])
    answer = pinnace(
        *("score", rowwise, "--input", tmp_path / f"in.{kind}", "--output", tmp_path / "out"),
        *("--features", "a,b,c,d"),
    )
    assert answer.code == 0, answer.err
    found = read_results(tmp_path / "out" / f"in.{kind}")
    np.testing.assert_array_equal([one["doubled"] for one in found], X[:, ::-1] * 2)


def test_inputs_of_several_are_made_of_columns_by_name(tmp_path: Path) -> None:
    model = FOLDER / "saved_models" / "multi_io" / "model"
    signature = tf.saved_model.load(model).signatures["serving_default"]
    rng = np.random.default_rng(0)
    zeta = rng.random((6, 4), np.float32)
    alpha = rng.random((6, 3, 2), np.float32)
    columns = {f"z{n}": zeta[:, n] for n in range(4)}
    write_parquet(tmp_path / "in.parquet", {**columns, "pairs": alpha.reshape(6, 6)})
    answer = pinnace(
        *("score", model, "--input", tmp_path / "in.parquet", "--output", tmp_path / "out"),
        *("--features", "zeta=z0,z1,z2,z3", "--features", "alpha=pairs", "--outputs", "pass"),
    )
    assert answer.code == 0, answer.err
    found = read_results(tmp_path / "out" / "in.parquet")
    wanted = signature(zeta=tf.constant(zeta), alpha=tf.constant(alpha))["pass"].numpy()
    assert list(found[0]) == ["pass"]
    np.testing.assert_allclose([one["pass"] for one in found], wanted, 2e-5, 1e-6)


def test_a_missing_column_is_named_with_what_there_is(rowwise: Path, tmp_path: Path) -> None:
    write_parquet(tmp_path / "in.parquet", {"id": np.arange(9), "X": X})
    answer = pinnace(
        "score", rowwise, "--input", tmp_path / "in.parquet", "--output", tmp_path / "out"
    )
    assert answer.code == 1
    assert (
        "there is no column 'x' for input 'x', whose rows are float32[4]; its columns are: id, X"
        in answer.err
    )
    assert visible_files(tmp_path / "out") == ["_score.json"]
    # The flags can be corrected, since the first ones produced no results.
    again = pinnace(
        *("score", rowwise, "--input", tmp_path / "in.parquet", "--output", tmp_path / "out"),
        *("--features", "X"),
    )
    assert again.code == 0, again.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--features", "a,b,c"], "takes rows of float32[4], and --features names 3 columns"),
        (["--features", "y=a"], "has no input 'y'; it has: x"),
        (["--features", "a,b,c,e"], "no column 'e' for input 'x'"),
        (["--features", "a,b,c,d", "--keep", "nr"], "no column 'nr' to keep; its columns are: a,"),
        (["--outputs", "sum"], "has no output 'sum'; it has: doubled, total"),
        (["--signature", "other"], "there is no signature 'other'"),
        (["--format", "xml"], "--format must be one of parquet, csv, jsonl, tfrecord, got 'xml'"),
        (["--batch-size", "0"], "--batch-size must be at least 1, got 0"),
        (["--features", "a,b,c,d", "--keep", "total"], "'total' is also an output of the model"),
        (["--workers", "0"], "--workers must be at least 1, got 0"),
    ],
)
def test_wrong_flags_are_one_error(
    flags: list[str], said: str, rowwise: Path, tmp_path: Path
) -> None:
    write_csv(tmp_path / "in.csv", "abcd", X.tolist())
    answer = pinnace(
        *("score", rowwise, "--input", tmp_path / "in.csv", "--output", tmp_path / "out"), *flags
    )
    assert answer.code == 1
    assert said in answer.err
    assert not (tmp_path / "out" / "in.csv").exists()


def test_rows_of_several_lengths_are_run_apart_and_stay_in_order(
    any_length: Path, tmp_path: Path
) -> None:
    rows = [[1], [2, 3], [4], [5, 6, 7], [8, 9]]
    for kind in ("jsonl", "parquet"):
        if kind == "jsonl":
            path = write_jsonl(tmp_path / "in.jsonl", [{"ids": row} for row in rows])
        else:
            path = write_parquet(tmp_path / "in.parquet", {"ids": rows})
        answer = pinnace("score", any_length, "--input", path, "--output", tmp_path / kind)
        assert answer.code == 0, answer.err
        found = read_results(tmp_path / kind / f"in.{kind}")
        assert [one["reversed"] for one in found] == [row[::-1] for row in rows]
        assert [one["n"] for one in found] == [len(row) for row in rows]


def test_a_model_for_one_batch_size_is_given_that(tmp_path: Path) -> None:
    class ThreeAtATime(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([3, 4], tf.float32, name="x")])
        def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"total": tf.reduce_sum(x, axis=1)}

    module = ThreeAtATime()
    tf.saved_model.save(module, tmp_path / "model", signatures=module.serve)
    np.save(tmp_path / "in.npy", rows_of(10))
    arguments = ["score", tmp_path / "model", "--input", tmp_path / "in.npy"]
    assert pinnace(*arguments, "--output", tmp_path / "out").code == 0
    found = read_results(tmp_path / "out" / "in.jsonl")
    assert [one["total"] for one in found] == rows_of(10).sum(1).tolist()
    wrong = pinnace(*arguments, "--output", tmp_path / "two", "--batch-size", "2")
    assert "the model takes 3 rows at a time, got 2" in wrong.err


def test_outputs_that_are_not_one_for_each_row_are_refused_by_name(tmp_path: Path) -> None:
    class Loss(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"loss": tf.reduce_mean(x), "total": tf.reduce_sum(x, axis=1)}

    module = Loss()
    tf.saved_model.save(module, tmp_path / "model", signatures=module.serve)
    np.save(tmp_path / "in.npy", X)
    arguments = ["score", tmp_path / "model", "--input", tmp_path / "in.npy", "--output"]
    answer = pinnace(*arguments, tmp_path / "out")
    assert answer.code == 1
    assert "output 'loss' is [] for 9 rows, and not a row for each" in answer.err
    assert pinnace(*arguments, tmp_path / "out", "--outputs", "total").code == 0


BAD = [
    ('{"x": [1, 2, 3, 4]}', None),
    ('{"x": [1, 2, 3]}', "column 'x': its shape is [3], must be float32[4]"),
    ('{"x": [1, 2, 3, "four"]}', "column 'x': [1, 2, 3, 'four'] is no float32"),
    ('{"x": [1, 2, 3, null]}', "column 'x': a value in it is missing"),
    ('{"y": [1, 2, 3, 4]}', "it has no 'x'; it has: y"),
    ("{nonsense", "it is no JSON"),
    ("[1, 2, 3, 4]", "it is a list, not an object with x"),
    ('{"x": [[1, 2], [3]]}', "column 'x': its lists differ in length"),
    ('{"x": null}', "column 'x': it is missing"),
    ('{"x": [[1], [2], [3], [4]]}', None),
]


@pytest.mark.parametrize("batch", [1, 3, 100])
def test_bad_rows_are_told_by_number_and_the_others_scored(
    batch: int, rowwise: Path, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "in.jsonl", [line.encode() for line, _ in BAD])
    arguments = ["score", rowwise, "--input", path, "--output", tmp_path / "out"]
    answer = pinnace(*arguments, "--batch-size", str(batch))
    assert answer.code == 3
    assert "8 bad rows" in answer.out
    found = bad_rows(tmp_path / "out", "in.jsonl")
    assert [row for row, _ in found] == [n for n, (_, why) in enumerate(BAD) if why]
    for row, reason in found:
        assert str(BAD[row][1]) in reason
    assert [one["total"] for one in read_results(tmp_path / "out" / "in.jsonl")] == [10, 10]
    # A second run finds all results, and its report is the same.
    assert pinnace(*arguments, "--batch-size", str(batch)).code == 3
    assert pinnace(*arguments, "--max-bad", "8").code == 0


def test_bad_cells_of_csv_are_told(rowwise: Path, tmp_path: Path) -> None:
    lines = ["a,b,c,d", "1,2,3,4", "1,2,3", "1,2,,4", "1,2,x,4", "", "1,2,3,4e0", "1,2,3,\xff"]
    (tmp_path / "in.csv").write_bytes("\r\n".join(lines).encode("latin-1") + b"\r\n")
    answer = pinnace(
        *("score", rowwise, "--input", tmp_path / "in.csv", "--output", tmp_path / "out"),
        *("--features", "a,b,c,d"),
    )
    assert answer.code == 3
    found = dict(bad_rows(tmp_path / "out", "in.csv"))
    assert found[1] == "it has 3 cells, and there are 4 columns"
    assert found[2] == "column 'c': it is empty"
    assert found[3] == "column 'c': 'x' is no float32"
    assert "it is no UTF-8" in found[5]
    assert [one["total"] for one in read_results(tmp_path / "out" / "in.csv")] == [10, 10]


def test_nan_is_a_value_unless_it_is_refused(rowwise: Path, tmp_path: Path) -> None:
    x = rows_of(5)
    x[1, 2], x[3, 0] = np.nan, np.inf
    write_parquet(tmp_path / "in.parquet", {"x": x})
    arguments = ["score", rowwise, "--input", tmp_path / "in.parquet", "--output"]
    assert pinnace(*arguments, tmp_path / "all").code == 0
    assert len(read_results(tmp_path / "all" / "in.parquet")) == 5
    assert pinnace(*arguments, tmp_path / "some", "--refuse-nan").code == 3
    assert len(read_results(tmp_path / "some" / "in.parquet")) == 3
    assert bad_rows(tmp_path / "some", "in.parquet") == [
        (1, "column 'x': it holds NaN or infinity"),
        (3, "column 'x': it holds NaN or infinity"),
    ]


def test_missing_values_of_parquet_are_bad_rows(rowwise: Path, tmp_path: Path) -> None:
    import pyarrow as pa

    columns = {name: pa.array([1.0, None, 3.0]) if name == "b" else [1.0] * 3 for name in "abcd"}
    write_parquet(tmp_path / "in.parquet", columns)
    answer = pinnace(
        *("score", rowwise, "--input", tmp_path / "in.parquet", "--output", tmp_path / "out"),
        *("--features", "a,b,c,d"),
    )
    assert answer.code == 3
    assert bad_rows(tmp_path / "out", "in.parquet") == [(1, "column 'b': it is missing")]


@pytest.mark.parametrize("batch", [1, 4, 64])
def test_rows_that_the_model_refuses_are_found_among_others(batch: int, tmp_path: Path) -> None:
    class Positive(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
        def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            check = tf.debugging.assert_non_negative(x, message="no negative prices")
            with tf.control_dependencies([check]):
                return {"total": tf.reduce_sum(x, axis=1)}

    module = Positive()
    tf.saved_model.save(module, tmp_path / "model", signatures=module.serve)
    x = np.abs(rows_of(40))
    x[7, 1], x[8, 1], x[30, 0] = -1, -1, -1
    np.save(tmp_path / "in.npy", x)
    answer = pinnace(
        *("score", tmp_path / "model", "--input", tmp_path / "in.npy"),
        *("--output", tmp_path / "out", "--batch-size", str(batch)),
    )
    assert answer.code == 3, answer.err
    found = bad_rows(tmp_path / "out", "in.jsonl")
    assert [row for row, _ in found] == [7, 8, 30]
    assert all("the model refuses it" in reason for _, reason in found)
    good = np.delete(x, [7, 8, 30], axis=0).sum(1)
    assert [one["total"] for one in read_results(tmp_path / "out" / "in.jsonl")] == good.tolist()


@pytest.mark.parametrize("batch", [64, 999, 1000, 5000])
@pytest.mark.parametrize(("good", "code"), [(999, 3), (1000, 1)])
def test_a_file_whose_first_thousand_rows_are_bad_is_not_for_the_model(
    batch: int, good: int, code: int, rowwise: Path, tmp_path: Path
) -> None:
    rows = [[1, 2]] * good + [[1, 2, 3, 4]] + [[1, 2]] * 100
    path = write_jsonl(tmp_path / "in.jsonl", rows)
    answer = pinnace(
        *("score", rowwise, "--input", path, "--output", tmp_path / "out"),
        *("--batch-size", str(batch)),
    )
    assert answer.code == code, answer.err
    assert (tmp_path / "out" / "in.jsonl").exists() == (code == 3)
    if code == 1:
        assert "its first 1000 rows are all bad; row 0: its shape is [2]" in answer.err
