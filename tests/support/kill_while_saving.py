"""Kill a process repeatedly while it saves checkpoints, and check that none is lost.

Run as `python kill_while_saving.py FOLDER KILLS SEED`. A child is forked for each kill: it saves
alternately through a CheckpointManager and to one fixed name, and reports each save on a pipe. It
is killed at a random moment. Then every reported checkpoint must exist and be complete, and the one
under the fixed name must contain the last reported save, or the one in progress.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

import pinnace as tf
from pinnace import train

SIZE = 40_000


class Model(tf.Module):
    """Values that are all the same number, so that a mixture of two saves is detected."""

    def __init__(self) -> None:
        super().__init__()
        self.a = tf.Variable(np.zeros(SIZE, np.float32))
        self.b = tf.Variable(np.zeros(SIZE // 2, np.int64))

    def fill(self, number: int) -> None:
        self.a.assign(np.full(SIZE, number, np.float32))
        self.b.assign(np.full(SIZE // 2, number, np.int64))

    def number(self) -> int:
        found = set(np.unique(self.a.numpy())) | set(np.unique(self.b.numpy()))
        if len(found) != 1:
            raise AssertionError(f"a checkpoint is made of several saves: {found}")
        return int(found.pop())


_MEAN_S = 0.05  # lifetime of a child, in which an idle machine saves about ten times


def save_without_end(folder: Path, number: int, pipe: int) -> None:
    """The child process, until it is killed."""
    model = Model()
    checkpoint = train.Checkpoint(model=model)
    manager = train.CheckpointManager(checkpoint, folder, max_to_keep=3)
    manager.restore_or_initialize()  # continues to count from the last child's number
    while True:
        number += 1
        model.fill(number)
        path = manager.save()
        os.write(pipe, f"{number} {path}\n".encode())
        number += 1
        model.fill(number)
        checkpoint.write(folder / "fixed")
        os.write(pipe, f"{number} fixed\n".encode())


def restored(path: str) -> int:
    """The number in a checkpoint."""
    model = Model()
    train.Checkpoint(model=model).read(path).expect_partial()
    return model.number()


def check(folder: Path, said: list[tuple[int, str]]) -> int:
    """Check that no reported save is lost; returns the last number."""
    managed = [(number, path) for number, path in said if path != "fixed"]
    if managed:
        latest = train.latest_checkpoint(folder)
        if latest is None or restored(latest) < managed[-1][0]:
            raise AssertionError(f"the latest checkpoint must be {managed[-1]}, is {latest}")
        # Three are kept: unreported saves may have replaced older ones.
        newest = int(latest.rpartition("-")[2])
        for number, path in managed[-3:]:
            if int(path.rpartition("-")[2]) > newest - 2 and restored(path) != number:
                raise AssertionError(f"{path} must hold {number}, holds {restored(path)}")
    fixed = [number for number, path in said if path == "fixed"]
    if fixed:
        found = restored(str(folder / "fixed"))
        if not fixed[-1] <= found <= said[-1][0] + 2:
            raise AssertionError(f"the fixed checkpoint must hold {fixed[-1]}, holds {found}")
    return said[-1][0] if said else 0


def one_kill(folder: Path, number: int, delay: float, said: list[tuple[int, str]]) -> None:
    """Fork, wait, kill, and add the child's reports."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(read)
            save_without_end(folder, number, write)
        finally:
            os._exit(1)
    os.close(write)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    with os.fdopen(read, "rb") as pipe:
        lines = pipe.read().decode().splitlines()
    _, status = os.waitpid(child, 0)
    if os.WTERMSIG(status) != signal.SIGKILL:
        raise AssertionError(f"the child ended by itself: {status}")
    said.extend((int(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines)


def main(folder: Path, kills: int, seed: int) -> None:
    """The whole test; prints the number of saves."""
    draw = random.Random(seed)
    said: list[tuple[int, str]] = []
    number = 0
    mean_s = _MEAN_S
    for _ in range(kills):
        heard = len(said)
        one_kill(folder, number, 0.005 + draw.expovariate(1 / mean_s), said)
        # If a child saved nothing in that time, on a busy machine, the next ones live longer.
        mean_s = mean_s * 1.5 if len(said) == heard else max(_MEAN_S, mean_s / 1.2)
        # Up to three more than reported may have been saved, or partly saved.
        number = max(check(folder, said) + 3, number)
    sys.stdout.write(f"{kills} kills, {len(said)} saves, none lost\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
