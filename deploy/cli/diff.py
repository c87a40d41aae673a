"""`pinnace diff`: the differences of two SavedModels."""

# No `from __future__ import annotations`: typer reads the annotations.
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from pinnace.deploy.cli.terminal import Terminal, print_json
from pinnace.deploy.models.finding import find_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.deploy.cli.differences import ArrayDifference, Differences
    from pinnace.deploy.models.runners import Runner

DIFFERENT = 1
_LARGEST = 10


def diff(
    a: Annotated[
        Path,
        typer.Argument(help="A SavedModel's folder, or a .keras or .h5 file.", show_default=False),
    ],
    b: Annotated[Path, typer.Argument(help="Another one.", show_default=False)],
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            help="Run both on these, as `pinnace run` does, and compare what they give.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    fill: Annotated[
        bool, typer.Option("--random", help="Run both on the same random inputs.")
    ] = False,
    signature: Annotated[str | None, typer.Option(help="Which signature is run.")] = None,
    tolerance: Annotated[
        float, typer.Option(help="Differences up to this, relative to the largest value, are none.")
    ] = 0.0,
    tags: Annotated[
        str | None, typer.Option(help="Tag set, comma-separated.", metavar="TAGS")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="List every difference.")] = False,
) -> int:
    """Compare two SavedModels; exit with 0 if they are equal, 1 if not, 2 on an error.

    Signatures, ops, functions, assets and each weight are compared. With --inputs or --random both
    are run, and their outputs are compared too.
    """
    from pinnace.deploy.cli.differences import compare

    first, second = find_model(a)[0], find_model(b)[0]
    shown = (a if a.is_file() else first, b if b.is_file() else second)
    chosen = tags.split(",") if tags else None
    found = compare(first, second, chosen, tolerance)
    if inputs or fill:
        outputs = _outputs((first, second), signature, chosen, inputs or [], tolerance, fill=fill)
        found = dataclasses.replace(found, outputs=outputs)
    if as_json:
        print_json({"equal": not found.any, **dataclasses.asdict(found)})
    else:
        _print(Terminal(), *shown, found, _LARGEST if not everything else None)
    return DIFFERENT if found.any else 0


def _outputs(
    paths: tuple[Path, Path],
    signature: str | None,
    tags: list[str] | None,
    given: list[str],
    tolerance: float,
    *,
    fill: bool,
) -> "tuple[ArrayDifference, ...]":
    from pinnace.deploy.cli.differences import array_difference, is_beyond
    from pinnace.deploy.cli.run import gathered_inputs
    from pinnace.deploy.models.runners import load_runner

    runners: list[Runner] = [load_runner(path, signature, tags) for path in paths]
    arrays = gathered_inputs(runners[0], given, 0, "255", fill=fill)
    answers = [
        {name: np.asarray(one) for name, one in runner.run(arrays).items()} for runner in runners
    ]
    found = [
        array_difference(name, answers[0][name], answers[1][name])
        for name in answers[0]
        if name in answers[1]
    ]
    return tuple(one for one in found if is_beyond(one, tolerance))


def _print(terminal: Terminal, a: Path, b: Path, found: "Differences", most: int | None) -> None:
    terminal.line(f"A: {a}")
    terminal.line(f"B: {b}")
    if not found.any:
        terminal.line(f"equal; {found.equal_variables} variables compared", "green")
        return
    _print_sentences(terminal, "signatures", found.signatures, most)
    rows = [(name, str(one), str(other)) for name, (one, other) in found.ops.items()]
    terminal.table(("op", "A", "B"), rows[:most], "ops", right=(1, 2))
    _print_rest(terminal, len(rows), most)
    _print_sentences(terminal, "functions", found.functions, most)
    _print_sentences(terminal, "variables only in A", found.only_in_a, most)
    _print_sentences(terminal, "variables only in B", found.only_in_b, most)
    _print_arrays(terminal, "variables", found.variables, most)
    if found.variables:
        terminal.line(f"  {found.equal_variables} other variables are equal")
    _print_sentences(terminal, "assets", found.assets, most)
    _print_arrays(terminal, "outputs", found.outputs, most)


def _print_sentences(
    terminal: Terminal, title: str, sentences: "Sequence[str]", most: int | None
) -> None:
    if sentences:
        terminal.heading(title)
        for one in sentences[:most]:
            terminal.line(f"  {one}")
        _print_rest(terminal, len(sentences), most)


def _print_arrays(
    terminal: Terminal, title: str, found: "Sequence[ArrayDifference]", most: int | None
) -> None:
    rows = []
    for one in found[:most]:
        if one.note:
            rows.append((one.name, one.note, "", ""))
        else:
            largest = "" if one.largest is None else f"{one.largest:.3g}"
            relative = "" if one.relative is None else f"{one.relative:.2g}"
            rows.append((one.name, largest, relative, f"{one.unequal:,} of {one.size:,}"))
    columns = ("name", "largest difference", "relative", "elements that differ")
    terminal.table(columns, rows, title, right=(1, 2, 3))
    _print_rest(terminal, len(found), most)


def _print_rest(terminal: Terminal, count: int, most: int | None) -> None:
    if most is not None and count > most:
        terminal.line(f"  and {count - most} more (--all)")
