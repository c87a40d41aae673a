"""The process that compiles kernels, as seen from the one that wants them.

Numba holds the interpreter's lock for most of the seconds that it takes for a kernel. In a process
of its own it takes another core instead of time from the program, needs no memory there once it has
ended, and changes nothing that belongs to the whole process, such as how warnings are shown.

The process runs `codegen.objects`: a request goes there as a line of JSON; what comes back begins
with `LENGTHS` of the two parts behind it, a JSON of what is said of the kernel and the code.
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

# The program's modules are found where this process finds its own; its working directory, which may
# have modules with the names of Python's, is no such place.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from pinnace.engine.codegen.objects import main; main()"
)
LENGTHS = struct.Struct("<qq")
_ENDS_WITHIN_S = 10.0


class Answer(NamedTuple):
    """What became of a request.

    Attributes:
        code: of a kernel, LLVM's; of several, their object file.
        reason: why there is none; empty if there is.
    """

    code: bytes
    reason: str


class EndedError(Exception):
    """The process cannot be started, or has ended without an answer; the message says how."""


class CompilerProcess:
    """A process that compiles kernels one after another, until it is closed.

    Args:
        environment: variables that differ from this process's.
        options: more of the program's (`codegen.objects`).

    Raises:
        EndedError: it cannot be started.
    """

    def __init__(self, environment: Mapping[str, str], options: Sequence[str]) -> None:
        if not sys.executable:
            raise EndedError("this program does not say where its Python interpreter is")
        path = json.dumps([one for one in sys.path if one])
        try:
            # A file, since a pipe that nobody reads would hold the process up.
            self._errors = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed with the process)
        except OSError as error:
            raise EndedError(f"no temporary file can be made: {error}") from error
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-W", "ignore", "-c", _PROGRAM, path, *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                # A buffer has a lock, which a fork may find taken by a thread that is then gone.
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
        """Have a kernel compiled.

        Args:
            text: of its module, the header included.

        Raises:
            EndedError: the process has ended.
        """
        return self._ask(text)

    def join(self, files: Sequence[str]) -> bytes:
        """Have an object file made of kernels.

        Args:
            files: with their code.

        Raises:
            EndedError: the process has ended.
        """
        return self._ask(files).code

    def _ask(self, request: str | Sequence[str]) -> Answer:
        if (
            self._process.poll() is not None
        ):  # to write to it could end a program that wants SIGPIPE
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
        """Let the process end, which it does when it has answered."""
        self._stdin.close()
        try:
            self._process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._release()

    def kill(self) -> None:
        """End the process now, whatever it is doing; who waits for an answer gets `EndedError`."""
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
