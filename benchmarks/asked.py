"""Processes asked in lines of JSON, all in like surroundings: the sides of a comparison."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

THREADS = 2
REMOVED = ("OPENBLAS_", "PYTHONDONTWRITEBYTECODE")
# OpenBLAS reads OMP_NUM_THREADS too.
SET = {
    "OMP_NUM_THREADS": str(THREADS),
    "NUMBA_NUM_THREADS": str(THREADS),
    "TF_NUM_INTRAOP_THREADS": str(THREADS),
    "TF_NUM_INTEROP_THREADS": str(THREADS),
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "-1",
    "PYTHONHASHSEED": "0",
}


def clean_environment() -> dict[str, str]:
    """What both sides run with."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(REMOVED)}
    return {**kept, **SET}


def keep_to_cores() -> None:
    """Let this process have as many cores as threads: some libraries count cores alone."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])


class Asked:
    """A process that is asked in lines of JSON, and answers in such lines.

    Args:
        interpreter: that runs it.
        script: what it runs.
        own: variables of its environment that others have not.
    """

    def __init__(
        self, interpreter: str, script: Path, own: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [interpreter, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**clean_environment(), **own},
            text=True,
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to one request.

        Raises:
            RuntimeError: the process ended; the message holds its last words.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("worker: no pipes")
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self._process.wait()
            raise RuntimeError(f"worker: ended with exit code {code}\n{self.last_words()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def last_words(self) -> str:
        """The end of what it wrote to its error stream."""
        self._log.seek(0)
        return "".join(self._log.readlines()[-20:])

    def close(self) -> None:
        """End its input, upon which it ends."""
        self._process.communicate()
        self._log.close()
