"""`pinnace`: the entry point. A failure prints a message with advice, and exits with an error."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from pinnace.framework.errors import OpError

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILURE = 1
# Commands whose exit code 1 is a result.
FAILURES = {"diff": 2, "scan": 2}
INTERRUPTED = 130
_SELDOM = (20_000, 20, 20)  # thresholds of the garbage collector's generations
_ADVICE = "Try:"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, and return the exit code.

    Source:
        The convention of Unix tools: 0 success, 1 failure, 2 wrong usage; for `diff` and `scan`, 1
        means that something was found, and 2 a failure, as for diff and grep.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments[0] if arguments else ""
    try:
        if any(argument.startswith("--import") for argument in arguments):
            from pinnace.keras.own_modules import taken

            arguments = taken(arguments)
        if command == "serve":
            # The server should start in a fraction of a second, so typer is not imported; its flags
            # are TF Serving's.
            from pinnace.serving.command import main as serve

            return serve(arguments[1:])
        from pinnace.deploy.cli.commands import run
        from pinnace.deploy.termination import sigterm_raises

        with sigterm_raises():
            return run(arguments)
    except BrokenPipeError:
        # The reader closed the pipe (`| head`); Python would report it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OpError, OSError, ValueError, TypeError, ImportError, KeyError) as error:
        _tell(command, error)
        return FAILURES.get(command, FAILURE)
    except KeyboardInterrupt:
        return INTERRUPTED


def _tell(command: str, error: Exception) -> None:
    said = error.args[0] if isinstance(error, KeyError) and error.args else error
    text = str(said) or type(error).__name__
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    advice = [line for line in lines if line.startswith(_ADVICE)]
    problem = "; ".join(line for line in lines if not line.startswith(_ADVICE))
    problem = problem.removeprefix(
        f"{command}: "
    )  # the message already begins with the function's name
    name = "pinnace" if command.startswith("-") or not command else f"pinnace {command}"
    from pinnace.framework.visible_text import visible

    sys.stderr.write(visible(f"{name}: {problem}\n"))
    for line in advice:
        sys.stderr.write(visible(f"  {line}\n"))


def run_process() -> NoReturn:
    """Run the command of this process, and exit."""
    # All objects that exist now stay alive, and most commands make few more; a server sets its own
    # thresholds.
    gc.freeze()
    if sys.argv[1:2] != ["serve"]:
        gc.set_threshold(*_SELDOM)
    code = main()
    gc.freeze()  # else the interpreter would scan all objects several times at exit
    sys.exit(code)


def run_model_server() -> NoReturn:
    """Run `tensorflow_model_server`: TensorFlow Serving's flags, served by `pinnace serve`."""
    asked = sys.argv[1:]
    sys.argv[1:] = asked if asked == ["--version"] else ["serve", *asked]
    run_process()


if __name__ == "__main__":
    run_process()
