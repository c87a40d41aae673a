"""A million rows of Parquet through `pinnace score`: killed and resumed, whole, and a plain loop.

    make score-demo
    make score-demo ARGS="--rows 100000"

The killed run must end with the rows of the whole one, each once and in order. Their numbers may
differ in the last bits: code is compiled while a process runs, and so begins at another batch in a
process that began later (`PINNACE_TIER=plan` compiles nothing). The loop is the loaded model called
on the same batches, read by PyArrow, with nothing written.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pinnace as tf

FILES = 10
WIDTH = 32
BATCH = 1024


def write_data(folder: Path, rows: int) -> None:
    """Files of an id and a list of 32 numbers each."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    each = rows // FILES
    for number in range(FILES):
        x = rng.standard_normal((each, WIDTH)).astype(np.float32)
        table = {
            "id": pa.array(np.arange(each, dtype=np.int64) + number * each),
            "x": pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), WIDTH),
        }
        pq.write_table(pa.table(table), folder / f"part-{number:03}.parquet", row_group_size=65536)


def save_model(folder: Path) -> None:
    """A small classifier."""

    class Classifier(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            rng = np.random.default_rng(1)
            self.first = tf.Variable(rng.standard_normal((WIDTH, 64)).astype(np.float32) / 6)
            self.second = tf.Variable(rng.standard_normal((64, 10)).astype(np.float32) / 8)

        @tf.function(input_signature=[tf.TensorSpec([None, WIDTH], tf.float32, name="x")])
        def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            hidden = tf.nn.relu(tf.matmul(x, self.first))
            return {"scores": tf.nn.softmax(tf.matmul(hidden, self.second))}

    module = Classifier()
    tf.saved_model.save(module, folder, signatures=module.serve)


def command(folder: Path, output: str) -> list[str]:
    """`pinnace score` on the data."""
    pinnace = [sys.executable, "-m", "pinnace.deploy.cli.main", "score", str(folder / "model")]
    place = ["--input", f"{folder}/data/*.parquet", "--output", str(folder / output)]
    return [*pinnace, *place, "--keep", "id", "--batch-size", str(BATCH)]


def killed_and_resumed(folder: Path, kills: int) -> float:
    """Kill it each time some more files are there; the seconds of all runs together."""
    begun = time.perf_counter()
    there = 0
    for kill in range(kills):
        process = subprocess.Popen(command(folder, "killed"), stdout=subprocess.DEVNULL)
        while process.poll() is None and count(folder / "killed") < there + 2:
            time.sleep(0.005)
        if process.poll() is None:
            time.sleep(0.1)  # into the next file
            process.send_signal(signal.SIGKILL)
        process.wait()
        there = count(folder / "killed")
        print(f"killed once more ({kill + 1}): {there} of {FILES} files are there")
    subprocess.run(command(folder, "killed"), check=True)
    return time.perf_counter() - begun


def count(folder: Path) -> int:
    """The files of results."""
    return len(list(folder.glob("*.parquet")))


def plain_loop(folder: Path) -> tuple[int, float]:
    """The loaded model on every batch: rows, and seconds without loading it."""
    signature = tf.saved_model.load(folder / "model").signatures["serving_default"]
    begun = time.perf_counter()
    rows = 0
    for path in sorted((folder / "data").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(BATCH, columns=["x"]):
            x = batch.column("x").flatten().to_numpy().reshape(-1, WIDTH)
            found = signature(x=tf.constant(x))
            assert len(found["scores"].numpy()) == len(x)
            rows += len(x)
    return rows, time.perf_counter() - begun


def difference(folder: Path, name: str) -> float:
    """How far the scores of both runs are apart at most; the rows must be the same."""
    whole, killed = (pq.read_table(folder / run / name) for run in ("whole", "killed"))
    assert whole["id"].equals(killed["id"]), f"the rows of {name} differ"
    a, b = (one["scores"].combine_chunks().flatten().to_numpy() for one in (whole, killed))
    return float(np.abs(a - b).max())


def main() -> None:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder / "data", options.rows)
        save_model(folder / "model")
        begun = time.perf_counter()
        subprocess.run(command(folder, "whole"), check=True)
        whole = time.perf_counter() - begun
        resumed = killed_and_resumed(folder, options.kills)
        names = sorted(path.name for path in (folder / "whole").iterdir())
        found = sorted(path.name for path in (folder / "killed").iterdir())
        assert found == names, f"there are {found}, and not {names}"
        farthest = max(difference(folder, name) for name in names if name.endswith(".parquet"))
        assert farthest < 1e-6, f"the scores differ by up to {farthest}"
        ids = [
            pq.read_table(path)["id"].to_numpy()
            for path in sorted((folder / "killed").glob("*.parquet"))
        ]
        rows = options.rows // FILES * FILES
        np.testing.assert_array_equal(np.concatenate(ids), np.arange(rows))
        looped, seconds = plain_loop(folder)
        assert looped == rows
        print(f"{rows:,} rows, each once, in both runs; scores differ by {farthest:.1g} at most")
        print(f"pinnace score     {rows / whole:>12,.0f} rows a second, with its start")
        print(f"  the killed one  {rows / resumed:>12,.0f} rows a second, with its starts")
        print(f"plain loop        {rows / seconds:>12,.0f} rows a second, loaded, nothing written")


if __name__ == "__main__":
    main()
