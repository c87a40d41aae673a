"""Kill a process repeatedly while it overwrites a SavedModel, with readers in other processes.

Run as `python kill_while_saving_models.py FOLDER KILLS SEED [TENSORFLOW_PYTHON]`. A child is forked
for each kill: it saves models over one folder and reports each save on a pipe. It is killed at a
random moment. Then the folder must contain the last reported model, or the one in progress; a
reader that loads it continuously must never find it missing or mixed from two saves. With an
interpreter that has TensorFlow, TensorFlow also loads the folder after every tenth kill.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import pinnace as tf
from pinnace import lookup, saved_model

SIZE = 40_000


class Model(tf.Module):
    """Values that are all the same number: in the variables, in the graph, and in an asset."""

    def __init__(self, folder: Path, number: int) -> None:
        super().__init__()
        self.a = tf.Variable(np.full(SIZE, number, np.float32))
        words = folder / f"words-{os.getpid()}"
        words.write_text(f"{number}\n")
        start = lookup.TextFileInitializer(
            str(words),
            *(tf.int64, lookup.TextFileIndex.LINE_NUMBER),
            *(tf.string, lookup.TextFileIndex.WHOLE_LINE),
        )
        self.table = lookup.StaticHashTable(start, "")
        self.number = number

    @tf.function(input_signature=[])
    def all(self) -> dict[str, tf.Tensor]:
        word = self.table.lookup(tf.constant(0, tf.int64))
        return {
            "least": tf.reduce_min(self.a),
            "most": tf.reduce_max(self.a),
            "graph": tf.constant(float(self.number)),
            "asset": tf.strings.to_number(word),
        }


def save_without_end(folder: Path, number: int, pipe: int) -> None:
    """The child process, until it is killed."""
    while True:
        number += 1
        model = Model(folder, number)
        saved_model.save(model, folder / "model", signatures=model.all)
        os.write(pipe, f"{number}\n".encode())


def loaded(folder: Path) -> int:
    """The number in the model; all its parts must be of one save."""
    answer = saved_model.load(folder / "model").signatures["serving_default"]()
    found = {float(value.numpy()) for value in answer.values()}
    if len(found) != 1:
        raise AssertionError(f"the model is made of several saves: {found}")
    return int(found.pop())


READ_WITH_TENSORFLOW = """
import sys, tensorflow as tf
for line in sys.stdin:
    answer = tf.saved_model.load(line.strip()).signatures["serving_default"]()
    found = {float(value.numpy()) for value in answer.values()}
    sys.stdout.write(f"{int(found.pop()) if len(found) == 1 else found}\\n")
    sys.stdout.flush()
"""


class Tensorflow:
    """A process that loads with TensorFlow."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, "-c", READ_WITH_TENSORFLOW],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, folder: Path, found: int) -> None:
        """Check that a separate process loads the same number."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{folder / 'model'}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if answer != str(found):
            raise AssertionError(f"here the folder holds {found}, in TensorFlow {answer!r}")

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


class Forked:
    """A child that runs until it is stopped or fails."""

    def __init__(self, work: object, *arguments: object) -> None:
        self._read, write = os.pipe()
        self.child = os.fork()
        if not self.child:
            try:
                os.close(self._read)
                work(*arguments, write)  # type: ignore[operator]  # a function
            except BaseException as error:
                os.write(write, f"FAILED {type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(1)
        os.close(write)
        self._said = b""

    def wait(self) -> None:
        """Wait until the child reports something, or ends."""
        self._said += os.read(self._read, 4096)

    def kill(self) -> list[str]:
        """Stop the child; returns the lines that it reported."""
        os.kill(self.child, signal.SIGKILL)
        with os.fdopen(self._read, "rb") as pipe:
            lines = (self._said + pipe.read()).decode().splitlines()
        os.waitpid(self.child, 0)
        failed = [line for line in lines if line.startswith("FAILED")]
        if failed:
            raise AssertionError(failed[0])
        return lines


def read_without_end(folder: Path, pipe: int) -> None:
    """Load the model repeatedly; its number must never decrease."""
    before = 0
    loads = 0
    while True:
        number = loaded(folder)
        if number < before:
            raise AssertionError(f"the model was {before} and became {number}")
        before, loads = number, loads + 1
        os.write(pipe, b"loaded\n")


def main(folder: Path, kills: int, seed: int, tensorflow: str | None) -> None:
    """The whole test; prints the numbers of saves and loads."""
    draw = random.Random(seed)
    model = Model(folder, 0)
    for _ in range(3):
        began = time.monotonic()
        saved_model.save(model, folder / "model", signatures=model.all)
    longest = 3 * (time.monotonic() - began) + 0.02
    other = Tensorflow(tensorflow) if tensorflow else None
    number = saves = loads = asked = 0
    for kill in range(kills):
        reader = Forked(read_without_end, folder) if kill % 4 == 1 else None
        writer = Forked(save_without_end, folder, number)
        if kill % 2:
            writer.wait()  # and is killed in a later save, however slow this machine is
            if reader is not None:
                reader.wait()
        time.sleep(draw.uniform(0.0, longest))
        said = [int(line) for line in writer.kill()]
        found = loaded(folder)
        last = said[-1] if said else number
        if not (last <= found <= last + 1 or (not said and found == number)):
            raise AssertionError(f"saved was {last}, the folder holds {found}")
        if reader is not None:
            loads += len(reader.kill())
        if other is not None and kill % 10 == 0:
            other.ask(folder, found)
            asked += 1
        number = found
        saves += len(said)
    if other is not None:
        other.end()
    sys.stdout.write(
        f"{kills} kills, {saves} saves, {loads} loads meanwhile, {asked} by TensorFlow, none lost\n"
    )


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        int(sys.argv[2]),
        int(sys.argv[3]),
        sys.argv[4] if len(sys.argv) > 4 else None,
    )
