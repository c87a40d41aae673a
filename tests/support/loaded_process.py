"""Python in a separate process that starts with TensorFlow and Keras loaded.

Loading them is most of the cost of a short program. So the first program of this process starts a
server, which loads them and runs nothing itself: each program is a fork of it, in the state after
`import tensorflow`, and does not affect others. To test loading itself, or to set something before
it, use `fresh_process.run_fresh`.
"""

import atexit
import json
import os
import selectors
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from support.fresh_process import run_fresh

SERVER = Path(__file__).with_name("loaded_server.py")
# Keras is loaded on access to TensorFlow's attribute.
MODULES = ("tensorflow:keras.layers",)
LOAD_S = 300.0


class Loaded:
    """One server, started on the first request and again after it died.

    Args:
        python: interpreter of the server.
    """

    def __init__(self, python: str) -> None:
        self.python = python
        self._process: subprocess.Popen[str] | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (as long as this lives)

    def run(self, code: str, arguments: list[str], timeout_s: float) -> tuple[int, str, str]:
        """The exit code, stdout and stderr of a program.

        Raises:
            subprocess.TimeoutExpired: it took too long, and was ended.
        """
        begins = self._process is None
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as said:
            files = {name: Path(said, name) for name in ("stdout", "stderr")}
            asked = {
                "code": code,
                "arguments": arguments,
                "folder": folder,
                "environment": dict(os.environ),
                **{name: str(path) for name, path in files.items()},
            }
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            with selectors.DefaultSelector() as waiting:
                waiting.register(process.stdout, selectors.EVENT_READ)
                if not waiting.select(timeout_s + LOAD_S * begins):
                    self.close()
                    raise subprocess.TimeoutExpired([self.python, "-c", code], timeout_s)
            answer = process.stdout.readline()
            if not answer:
                self.close()
                self._log.seek(0)
                tail = self._log.read()[-2000:].decode(errors="replace")
                raise AssertionError(f"{self.python} ended while it loaded TensorFlow\n{tail}")
            printed, errors = (
                path.read_text("utf-8") if path.exists() else "" for path in files.values()
            )
            return int(answer), printed, errors

    def close(self) -> None:
        """End the server, and the program that it runs."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, 9)
            process.communicate()

    def forget(self) -> None:
        """End the server for good."""
        self.close()
        self._log.close()

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [self.python, "-c", SERVER.read_text("utf-8"), *MODULES],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=tempfile.gettempdir(),
            start_new_session=True,
        )
        return self._process


@cache
def _server(python: str) -> Loaded:
    server = Loaded(python)
    atexit.register(server.forget)
    return server


def run_either(
    code: str, *arguments: str | Path, python: str | None = None, timeout_s: float = 300.0
) -> str:
    """The output of `code`, run in an empty folder.

    Args:
        code: a program; `arguments` are in `sys.argv[1:]`.
        arguments: strings and paths; make paths absolute.
        python: the interpreter that has TensorFlow, which is loaded; None for ours in a new
            process.
        timeout_s: the process is killed after this time.

    Raises:
        AssertionError: the program failed; the message contains its error.
    """
    if python is None:
        return run_fresh(code, *arguments, timeout_s=timeout_s)
    status, printed, errors = _server(python).run(code, list(map(str, arguments)), timeout_s)
    if status:
        raise AssertionError(
            f"loaded process: exit code {status}\n{code.strip()}\n\n{errors.strip()}"
        )
    return printed
