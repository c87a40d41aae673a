"""One model is asked while another one is replaced each second: its latency, and the memory."""

from __future__ import annotations

import shutil
import socket
import statistics
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from servers.bodies import FORMS
from servers.load import MODELS, Case, cells, clean_environment, measure
from servers.processes import Started, start

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERY_S = 1.0
_KEPT = 2  # versions that stay on the disk


@dataclass
class Reloads:
    """What happened.

    Attributes:
        count: versions that came.
        memory_mib: of the server, before each of them.
    """

    count: int
    memory_mib: list[float]

    def growth(self) -> float:
        """How far the second half's median lies above the first half's, which has what is new.

        Not the peaks: now and then the old version still answers, beside the new one.
        """
        half = len(self.memory_mib) // 2
        if not half:
            return 0.0
        return (
            statistics.median(self.memory_mib[half:]) / statistics.median(self.memory_mib[:half])
            - 1
        )


def copy_first(source: Path, base: Path) -> None:
    """Version 1 of the model that will be replaced."""
    base.mkdir()
    shutil.copytree(source / "1", base / "1")


@contextmanager
def reloading(source: Path, base: Path, started: Started) -> Iterator[Reloads]:
    """New versions of a model, as long as the block lasts.

    Args:
        source: folder that has version 1.
        base: folder that the server looks at.
        started: the server.
    """
    reloads = Reloads(0, [])
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(EVERY_S):
            reloads.memory_mib.append(started.pss_mib())
            reloads.count += 1
            version = reloads.count + 1
            part = base.with_name(f"{base.name}.new")
            shutil.copytree(source / "1", part)
            part.rename(base / str(version))
            shutil.rmtree(base / str(version - _KEPT), ignore_errors=True)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield reloads
    finally:
        stop.set()
        thread.join()


def measure_reloads(seconds: int, runs: int) -> tuple[list[tuple[str, ...]], bool]:
    """The rows of model a while model b is replaced each second; and whether memory stayed."""
    case = Case("a", "json", 1, 64, {})
    form = FORMS["json"]
    path = "/v1/models/a:predict"
    with tempfile.TemporaryDirectory() as temporary, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        folder, base = Path(temporary), Path(temporary) / "b"
        copy_first(MODELS / "b", base)
        flags = ["--host=127.0.0.1", "--port=0", f"--rest_api_port={port}"]
        serve = [sys.executable, "-m", "pinnace.deploy.cli.main", "serve", *flags]
        command = [*serve, f"a={MODELS / 'a'}", f"b={base}"]
        started = start(
            command, clean_environment(), folder, port, path, form.body(1), form.headers(1)
        )
        try:
            quiet = measure(started, path, form, case, seconds, runs)
            with reloading(MODELS / "b", base, started) as reloads:
                # Ten times as long: the first versions bring what stays.
                busy = measure(started, path, form, case, seconds * 10, runs, warming=0)
        finally:
            started.stop()
    growth = reloads.growth()
    good = growth < 0.02 and not busy.errors and not quiet.errors
    rows = []
    for point, text in ((quiet, "pinnace"), (busy, f"pinnace, {reloads.count} reloads of b")):
        point.server = text
        rows.append(("", *cells(point), "", "", ""))
    load = "a, json, 1 rows, 64 connections, b replaced each second"
    rows[0] = (load, *rows[0][1:])
    least, most = min(reloads.memory_mib, default=0), max(reloads.memory_mib, default=0)
    memory = f"{growth:+.1%}: {least:.0f} to {most:.0f} MiB"
    rows[1] = (*rows[1][:6], memory, "memory < +2 %", "" if good else "missed")
    return rows, good
