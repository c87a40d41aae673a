"""Servers as process trees: started, asked until they answer, weighed, stopped. Linux's /proc."""

import contextlib
import http.client
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
START_S = 120
REST_S = 60
_LOOK_S = 0.5
_IDLE = 0.1  # share of a core that servers take that wait


@dataclass
class Started:
    """A server that answers.

    Attributes:
        process: its first process.
        port: where it listens.
        cold_s: from the start of the process to the first answer.
    """

    process: subprocess.Popen[bytes]
    port: int
    cold_s: float

    def cpu_s(self) -> float:
        """Processor time of the whole tree so far."""
        total = 0
        for pid in tree(self.process.pid):
            with contextlib.suppress(OSError, IndexError):
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                total += int(fields[11]) + int(fields[12])
        return total / TICK

    def rest(self) -> None:
        """Wait until it does nothing: what it compiles after the first requests is no answer."""
        end = time.monotonic() + REST_S
        while time.monotonic() < end:
            before = self.cpu_s()
            time.sleep(_LOOK_S)
            if self.cpu_s() - before < _IDLE * _LOOK_S:
                return

    def pss_mib(self) -> float:
        """Memory of the whole tree, shared pages by share."""
        total = 0
        for pid in tree(self.process.pid):
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                    if line.startswith("Pss:"):
                        total += int(line.split()[1])
        return total / 1024

    def stop(self) -> None:
        """End it, and what it started."""
        pids = tree(self.process.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(8)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


def tree(pid: int) -> list[int]:
    """A process and its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def ask(
    port: int, path: str, body: bytes, headers: dict[str, str], timeout_s: float = 30
) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers of one reply."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("POST", path, body, headers)
        reply = connection.getresponse()
        data = reply.read()
        return reply.status, data, {key.lower(): value for key, value in reply.getheaders()}
    finally:
        connection.close()


def start(
    command: list[str],
    environment: dict[str, str],
    folder: Path,
    port: int,
    path: str,
    body: bytes,
    headers: dict[str, str],
) -> Started:
    """A server, once it answers.

    Raises:
        RuntimeError: it ended, or does not answer; with what it printed.
    """
    log = folder / "log"
    with log.open("wb") as output:
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=output
        )
    started = Started(process, port, 0.0)
    while True:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if ask(port, path, body, headers)[0] == 200:
                break
        if process.poll() is not None or time.perf_counter() - begin > START_S:
            started.stop()
            raise RuntimeError(f"{command}: did not answer\n{log.read_text()[-3000:]}")
        time.sleep(0.002)
    started.cold_s = time.perf_counter() - begin
    return started
