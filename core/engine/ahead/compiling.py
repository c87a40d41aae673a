"""The client of the process that compiles kernels.

Numba holds the interpreter's lock for most of the seconds that a kernel takes. In a process of its
own it uses another core instead of the program's time, its memory is freed when it ends, and it
changes no process-wide state, such as how warnings are shown.

The process runs `codegen.objects`. A request is a line of JSON. A reply starts with the lengths of
its two parts (`LENGTHS`): a JSON object about the kernel, and the code.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The child imports modules from this process's path, not from its working directory, whose files
# may have the names of Python's modules.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from pinnace.engine.codegen.objects import main; main()"
)
LENGTHS = struct.Struct("<qq")
_ENDS_WITHIN_S = 10.0


class Answer(NamedTuple):
    """The reply to a request.

    Attributes:
        code: LLVM's code for one kernel, or the object file of several.
        reason: why there is no code; empty if there is.
    """

    code: bytes
    reason: str


class EndedError(Exception):
    """The process cannot be started, or has ended without an answer; the message says how."""


class CompilerProcess:
    """A process that compiles kernels one after another, until it is closed.

    Args:
        environment: variables that differ from this process's.
        options: further options of the program (`codegen.objects`).

    Raises:
        EndedError: it cannot be started.
    """

    def __init__(self, environment: Mapping[str, str], options: Sequence[str]) -> None:
        if not sys.executable:
            raise EndedError(
                "the path of this program's Python interpreter is unknown (sys.executable)"
            )
        path = json.dumps([one for one in sys.path if one])
        try:
            # A file, since a pipe that nobody reads would block the process.
            self._errors = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed with the process)
        except OSError as error:
            raise EndedError(f"no temporary file can be created: {error}") from error
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-W", "ignore", "-c", _PROGRAM, path, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                # A buffer has a lock, which a fork may copy while another thread holds it.
                bufsize=0,
                env={**os.environ, **environment},
                start_new_session=True,  # a terminal's interrupt is for this process alone
            )
        except OSError as error:
            self._errors.close()
            raise EndedError(f"{sys.executable} cannot be started: {error}") from error
        assert self._process.stdin and self._process.stdout  # noqa: S101,PT018 - pipes, as asked for
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def compile(self, text: str) -> Answer:
        """Compile a kernel in the process.

        Args:
            text: the source of the kernel's module, including the header.

        Raises:
            EndedError: the process has ended.
        """
        return self._ask(text)

    def join(self, files: Sequence[str]) -> bytes:
        """Combine kernels into an object file.

        Args:
            files: paths of the kernels' code.

        Raises:
            EndedError: the process has ended.
        """
        return self._ask(files).code

    def _ask(self, request: str | Sequence[str]) -> Answer:
        if self._process.poll() is not None:  # writing to it could end a program that wants SIGPIPE
            raise EndedError(self._last_words())
        try:
            self._send(json.dumps(request).encode() + b"\n")
            told_bytes, code_bytes = LENGTHS.unpack(self._receive(LENGTHS.size))
            told = json.loads(self._receive(told_bytes))
            return Answer(self._receive(code_bytes), told["reason"])
        except (OSError, ValueError, EOFError) as error:
            raise EndedError(self._last_words()) from error

    def _send(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            left = left[os.write(self._stdin.fileno(), left) :]

    def _receive(self, count: int) -> bytes:
        parts = []
        while count:
            part = os.read(self._stdout.fileno(), min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Ask the process to end after its current answer, and wait for it."""
        self._stdin.close()
        try:
            self._process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._release()

    def kill(self) -> None:
        """End the process immediately; callers waiting for an answer get `EndedError`."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_WITHIN_S)

    def _release(self) -> None:
        for one in (self._stdin, self._stdout, self._errors):
            one.close()

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_WITHIN_S)
        with contextlib.suppress(OSError, ValueError):
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
            if lines:
                return lines[-1].strip()
        return f"it ended with {self._process.returncode}"
