"""The list of commands for typer; a command's module is imported when it is first used."""

# No `from __future__ import annotations`: typer reads the annotations.
import importlib
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.markup import escape

USAGE = 2
_LOOK, _USE, _CHANGE = "Look at a model", "Use a model", "Change a model"
_PROGRAMS = "Change programs"
_READ = "Read about it"
# In the order of the overview: (command, which is a function in the file of its name; its group in
# the overview).
_COMMANDS = {
    "show": _LOOK,
    "scan": _LOOK,
    "diff": _LOOK,
    "run": _USE,
    "score": _USE,
    "serve": _USE,
    "replay": _USE,
    "export": _CHANGE,
    "edit": _CHANGE,
    "upgrade": _PROGRAMS,
    "docs": _READ,
}
# Commands of version 0.1 that scripts still call, with any options; they are hidden.
_GONE = ("compile", "warmup")


def _serve() -> None:
    """A placeholder in the list of commands: `main` runs `serve` before typer is imported."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from pinnace.framework.versions import VERSION  # reads the installed metadata

        typer.echo(f"pinnace {VERSION}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options before the command."""
    del version


def _app(names: Iterable[str]) -> typer.Typer:
    """The app of `pinnace` with these commands."""
    app = typer.Typer(
        name="pinnace",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="SavedModels without TensorFlow: look at them, run them, serve them, export them.",
        epilog=(
            "Each command explains itself: pinnace COMMAND --help. All take --import MODULE, for "
            "Keras files with classes of your own."
        ),
    )
    app.callback()(_options)
    for name in names:
        if name in _GONE:
            gone = getattr(importlib.import_module(f"pinnace.deploy.cli.{name}"), name)
            app.command(name, context_settings={"ignore_unknown_options": True})(gone)
            continue
        panel = _COMMANDS[name]
        if name == "serve":
            told = "Serve models over HTTP and gRPC; `pinnace serve --help` lists the flags."
            listed = app.command(name, help=told, add_help_option=False, rich_help_panel=panel)
            listed(_serve)
        else:
            module = importlib.import_module(f"pinnace.deploy.cli.{name}")
            app.command(name, rich_help_panel=panel)(getattr(module, name))
    return app


def _escape(command: Any) -> None:
    """Escape square brackets in help texts, such as `.npz[key]`, which Rich takes for markup."""
    command.help = escape(command.help) if command.help else command.help
    for parameter in command.params:
        told = getattr(parameter, "help", None)
        if told:
            parameter.help = escape(told)
    for one in getattr(command, "commands", {}).values():
        _escape(one)


def run(arguments: list[str]) -> int:
    """Run a command line; return the exit code. Errors of commands are raised."""
    called = [name for name in arguments[:1] if name in {*_COMMANDS, *_GONE}]
    try:
        command = typer.main.get_command(_app(called or _COMMANDS))
        _escape(command)
        result = command(arguments, prog_name="pinnace", standalone_mode=False)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        return 130
    except Exception as error:
        # Usage errors print their own message.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "pinnace"
        if not str(message()):  # without a command, the help was shown
            return USAGE
        typer.echo(f"{path}: {message()}\n  Try: {path} --help", err=True)
        return USAGE
    return result if isinstance(result, int) else 0
