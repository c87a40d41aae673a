"""`pinnace`: the commands, and how a failure is told (one line, no traceback, a non-zero exit)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

from pinnace.framework.errors import OpError

USAGE = 2
FAILURE = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code.

    Source:
        0 done, 1 it failed, 2 it was called wrongly: the convention of Unix tools.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["serve"]:
            # A server starts in a fraction of a second: no time for typer, and its flags are TF Serving's.
            from pinnace.serving.command import main as serve  # noqa: PLC0415

            return serve(arguments[1:])
        return _run_typer(arguments)
    except (OpError, OSError, ValueError, TypeError) as error:
        print(f"pinnace: {_one_line(error)}", file=sys.stderr)  # noqa: T201
        return FAILURE
    except KeyboardInterrupt:
        return 130


def _one_line(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return "; ".join(line.strip() for line in text.splitlines() if line.strip())


def _run_typer(arguments: list[str]) -> int:
    import typer  # noqa: PLC0415

    from pinnace.deploy.cli.export import export  # noqa: PLC0415
    from pinnace.deploy.cli.show import show  # noqa: PLC0415

    app = typer.Typer(
        name="pinnace",
        no_args_is_help=True,
        add_completion=False,
        help="SavedModels without TensorFlow: look at them, serve them, export them.",
    )

    def version(wanted: bool) -> None:
        if wanted:
            print(f"pinnace {metadata.version('pinnace')}")  # noqa: T201
            raise typer.Exit

    @app.callback()
    def options(
        version: Annotated[
            bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
        ] = False,
    ) -> None:
        del version

    app.command()(show)
    app.command()(export)

    @app.command(help="Serve models over HTTP; `pinnace serve --help` lists the flags.", add_help_option=False)
    def serve() -> None:
        """Only for the list of commands: `main` runs it before typer is loaded."""

    try:
        result = app(arguments, standalone_mode=False)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        return 130
    except Exception as error:
        # click's own errors know how to show themselves.
        show_usage = getattr(error, "show", None)
        if show_usage is None:
            raise
        show_usage()
        return int(getattr(error, "exit_code", USAGE))
    return int(result) if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
