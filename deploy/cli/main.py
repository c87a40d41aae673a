"""`pinnace`: the entry point. A failure is one line, no traceback, a non-zero exit."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pinnace.framework.errors import OpError

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILURE = 1
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code.

    Source:
        0 done, 1 it failed, 2 it was called wrongly: the convention of Unix tools.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["serve"]:
            # A server starts in a fraction of a second: no time for typer, and its flags are TF
            # Serving's.
            from pinnace.serving.command import main as serve

            return serve(arguments[1:])
        from pinnace.deploy.cli.commands import run

        return run(arguments)
    except (OpError, OSError, ValueError, TypeError, ImportError) as error:
        print(f"pinnace: {_one_line(error)}", file=sys.stderr)  # noqa: T201 (for people)
        return FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED


def _one_line(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return "; ".join(line.strip() for line in text.splitlines() if line.strip())


if __name__ == "__main__":
    sys.exit(main())
