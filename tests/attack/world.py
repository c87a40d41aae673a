"""A server under attack, observed from outside."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SERVE = "import sys; from pinnace.serving.command import main; sys.exit(main(sys.argv[1:]))"
TESTS = Path(__file__).parents[1]


class Victim(tf.Module):
    """The attacked model: it copies, loops, grows and parses text, and one signature mixes rows."""

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32, "x")])
    def copy(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * 0.5}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def loop(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        i = tf.constant(0.0)
        while i < 1.0:
            i = i + tf.reduce_sum(x)
        return {"y": x + i}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def grow(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        n = tf.cast(tf.reduce_max(x), tf.int32)
        return {"y": x + tf.reduce_sum(tf.fill([n, n], 1.0))}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def view(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.tile(x[:1], [tf.cast(x[0], tf.int32)])}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32, "x")])
    def whole(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.tile(x[:1], x[1:2])}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "inputs")])
    def text(self, inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"outputs": tf.cast(tf.strings.length(inputs), tf.float32)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "x")])
    def match(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.strings.regex_full_match(x, "(a+)+$|\\s+b")}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "x")])
    def words(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": tf.strings.split(x).row_lengths()}

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, "x")])
    def meet(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x - tf.reduce_mean(x, axis=0)}


class Half(tf.Module):
    """The model whose clients must not notice the attack."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def half(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x / 2 + 2}


def save_models(folder: Path) -> None:
    """Save the models `victim` and `good`."""
    victim, half = Victim(), Half()
    names = ("copy", "loop", "grow", "view", "whole", "text", "match", "words", "meet")
    signatures = {name: getattr(victim, name) for name in names}
    tf.saved_model.save(
        victim,
        str(folder / "victim" / "1"),
        signatures={**signatures, "serving_default": victim.copy},
    )
    tf.saved_model.save(half, str(folder / "good" / "1"), signatures=half.half)


def free_port() -> int:
    """An unused port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class World:
    """A server with its ports and its process.

    Args:
        folder: folder for its models and the files of this class.
        flags: additional flags.
        files: limit of open files; 0 keeps the default.
        memory: limit of its data in bytes; 0 keeps the default.
        program: program to run instead of `pinnace serve`.
        scheme: scheme of its URL.
        authority: certificate authority that the probe trusts.
        probes: whether another process calls it continuously.
    """

    def __init__(
        self,
        folder: Path,
        flags: Sequence[str] = (),
        *,
        files: int = 0,
        memory: int = 0,
        program: Sequence[str] = ("-c", SERVE),
        scheme: str = "http",
        authority: str = "",
        probes: bool = True,
    ) -> None:
        self.folder = folder
        self.scheme = scheme
        self.http, self.grpc = free_port(), free_port()
        scratch = Path(tempfile.mkdtemp(dir=folder))
        self.log = scratch / "log"
        self.notes = scratch / "notes"

        def limit() -> None:
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
            if memory:
                resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))

        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, *program, "--host=127.0.0.1"),
                    *(f"--rest_api_port={self.http}", f"--port={self.grpc}"),
                    *(f"victim={folder / 'victim'}", f"good={folder / 'good'}", *flags),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                preexec_fn=limit,
            )
        self._await(lambda: b"Serving on" in self.log.read_bytes())
        self._await(lambda: self._connects(self.grpc))
        self.quiet_since = time.monotonic()  # time since which no attack is running
        self.probe: subprocess.Popen[bytes] | None = None
        if not probes:
            return
        self.probe = subprocess.Popen(
            [
                *(sys.executable, "-m", "attack.probe", str(self.http), "good"),
                *(str(self.notes), *([authority] if authority else [])),
            ],
            cwd=TESTS,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._await(lambda: self.notes.exists() and self.notes.stat().st_size > 16 * 200)

    def _connects(self, port: int) -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    def _await(self, is_so: object, limit_s: float = 60.0) -> None:
        end = time.monotonic() + limit_s
        while not is_so():  # type: ignore[operator]
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit(f"the server does not begin:\n{self.log.read_text()[-3000:]}")
            time.sleep(0.02)

    def memory(self) -> int:
        """Resident memory of the server in bytes."""
        text = Path(f"/proc/{self.process.pid}/statm").read_text()
        return int(text.split()[1]) * resource.getpagesize()

    def peak(self) -> int:
        """Peak of its resident memory since `forget_peak`."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        if "VmHWM:" not in text:  # it has ended
            raise SystemExit(f"the server has ended:\n{self.log.read_text()[-3000:]}")
        return int(text.partition("VmHWM:")[2].split()[0]) << 10

    def forget_peak(self) -> None:
        """Reset the peak to the current value."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def tracebacks(self) -> int:
        """Number of tracebacks in the log."""
        return self.log.read_text(errors="replace").count("Traceback")

    def close(self) -> int:
        """End the server as a supervisor would; returns its exit code."""
        if self.probe is not None:
            self.probe.kill()
            self.probe.wait()
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(45)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return -9


@contextlib.contextmanager
def world(folder: Path, *arguments: object, **options: object) -> Iterator[World]:
    """A server that runs during the block; it must end cleanly."""
    one = World(folder, *arguments, **options)  # type: ignore[arg-type]
    try:
        yield one
    finally:
        code = one.close()
    if code:
        raise SystemExit(f"the server ended with {code}:\n{one.log.read_text()[-3000:]}")


def rows(count: int) -> np.ndarray:
    """Rows of four numbers, all different."""
    return np.arange(count * 4, dtype=np.float32).reshape(count, 4)
