"""`pinnace edit`: removes or renames signatures of a SavedModel."""

# No `from __future__ import annotations`: typer reads the annotations.
from pathlib import Path
from typing import Annotated

import typer

from pinnace.deploy.cli.terminal import Terminal, size_text
from pinnace.deploy.models.finding import find_model, unknown_name
from pinnace.framework.errors import AlreadyExistsError, InvalidArgumentError


def edit(
    model: Annotated[Path, typer.Argument(help="The SavedModel's folder.", show_default=False)],
    output: Annotated[Path, typer.Argument(help="Where the new one goes.", show_default=False)],
    keep_signature: Annotated[
        list[str] | None,
        typer.Option(help="Keep only this signature; may be repeated.", metavar="NAME"),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(help="Call a signature otherwise; may be repeated.", metavar="OLD=NEW"),
    ] = None,
    tags: Annotated[
        str | None, typer.Option(help="Tags of the new model, comma-separated.", metavar="TAGS")
    ] = None,
    select_tags: Annotated[
        str | None, typer.Option(help="Which of several graphs, by its tags.", metavar="TAGS")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace OUTPUT if it is there.")] = False,
) -> None:
    """Write MODEL to OUTPUT with only what some of its signatures reach.

    Variables, tables, assets and functions that no kept signature needs are left out. MODEL stays
    as it is, unless it is OUTPUT too. TensorFlow opens the result as it opens any SavedModel.
    """
    folder, _ = find_model(model)
    if output.exists() and not overwrite:
        raise AlreadyExistsError(f"{output} exists\n  Try: --overwrite")
    from pinnace.saved_model.editing import edit as edit_model
    from pinnace.saved_model.inspection import inspect

    selected = _tags(select_tags)
    new_names = dict(_renaming(one) for one in rename or [])
    known = [one.name for one in inspect(folder, selected).signatures]
    for name in (*(keep_signature or []), *new_names):
        if name not in known:
            raise unknown_name("signature", name, known, folder)
    done = edit_model(folder, output, keep_signature, new_names, _tags(tags), selected)
    terminal = Terminal()
    kept = ", ".join(
        old if old == new else f"{old} as {new}" for old, new in done.signatures.items()
    )
    terminal.line(f"{output}: {kept}")
    if done.dropped_signatures:
        terminal.line(f"left out: {', '.join(done.dropped_signatures)}")
    terminal.line(
        f"{done.variables[0]} of {done.variables[1]} variables, "
        f"{size_text(done.bytes[0])} of {size_text(done.bytes[1])}"
    )


def _tags(text: str | None) -> list[str] | None:
    return None if text is None else [one.strip() for one in text.split(",") if one.strip()]


def _renaming(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not old or not new:
        raise InvalidArgumentError(f"--rename must be OLD=NEW, got {text!r}")
    return old, new
