"""TensorFlow in its own process, as an object with requests and replies."""

import os
import selectors
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from oracle import wire

WORKER = Path(__file__).with_name("worker.py")
START_S = 120.0
ANSWER_S = 60.0


class PeerDiedError(Exception):
    """TensorFlow's process ended, or did not reply in time."""


class Peer:
    """One process with TensorFlow, started on the first request and again after it died.

    A call that crashes ends only a fork of it, and the next fork is ready at once.

    Args:
        python: interpreter of the process.
    """

    def __init__(self, python: str) -> None:
        self.python = python
        self.version = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (as long as this lives)

    def send(self, calls: list[dict[str, Any]]) -> None:
        """Send a request; `receive` returns the reply."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            wire.write(process.stdin, calls)
        except BrokenPipeError as error:
            raise self._death() from error

    def receive(self, timeout_s: float = ANSWER_S) -> Any:
        """The reply to the last request, one entry per call."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(process.stdout, selectors.EVENT_READ)
            if not waiting.select(timeout_s):
                raise self._death(f"no answer within {timeout_s} s")
        try:
            answer = wire.read(process.stdout)
        except EOFError as error:
            raise self._death() from error
        if isinstance(answer, dict) and "died" in answer:  # it has restarted
            raise self._error(f"it ended with {answer['died']}")
        return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)  # with its forks
            process.communicate()

    def forget(self) -> None:
        """End the process for good."""
        self.close()
        self._log.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self._log.seek(0)
        self._log.truncate()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        self._process = subprocess.Popen(
            [self.python, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            cwd=tempfile.gettempdir(),
            start_new_session=True,
        )
        self.version = self.receive(START_S)["version"]
        return self._process

    def _death(self, why: str = "it ended") -> PeerDiedError:
        self.close()
        return self._error(why)

    def _error(self, why: str) -> PeerDiedError:
        self._log.seek(0)
        tail = self._log.read()[-2000:].decode(errors="replace")
        return PeerDiedError(f"TensorFlow's process: {why}\n{tail}")
