"""`pinnace export --page`: the options of pages, and of labels and normalisation."""

# No `from __future__ import annotations`: typer reads the annotations.
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from pinnace.deploy.program.pixels import Scaling

Page = Annotated[
    bool,
    typer.Option(
        "--page",
        help="Write a page that runs the model in the browser: with --tfjs into its folder, else "
        "into OUTPUT with the ending .page; see --web.",
    ),
]
Web = Annotated[Path | None, typer.Option(help="Folder for that page.", metavar="FOLDER")]
WebRuntime = Annotated[
    Path | None,
    typer.Option(
        help="Where onnxruntime-web, or @litertjs/core, is, if not in node_modules here.",
        metavar="FOLDER",
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--labels",
        help="A file with the names of an output's entries, one a line, for .tflite files and "
        "pages; OUTPUT=FILE where there are several. Else labels.txt in MODEL.",
        metavar="FILE",
    ),
]
Normalization = Annotated[
    list[str] | None,
    typer.Option(
        "--normalization",
        help="What pictures become for .tflite files and pages, MEAN:STD or INPUT=MEAN:STD: pixels "
        "of 0 to 255 less the one, divided by the other.",
        metavar="MEAN:STD",
    ),
]
Vocabulary = Annotated[
    list[str] | None,
    typer.Option(
        "--vocabulary",
        help="Of .tflite: a file with the words of an input, or INPUT=FILE.",
        metavar="FILE",
    ),
]
Metadata = Annotated[
    Path | None,
    typer.Option(
        "--metadata",
        help="Of .tflite: names, descriptions and more as JSON; see the guide.",
        metavar="FILE",
    ),
]


def page_place(output: Path, web: Path | None, *, page: bool) -> Path | None:
    """The folder of a file's page; None without a page."""
    return web if web is not None or not page else output.with_suffix(".page")


def one_or_named(option: str, values: list[str] | None) -> Any:
    """The single value of an option, or a dict if values are given by name.

    Raises:
        InvalidArgumentError: several values are given without names.
    """
    if not values:
        return None
    if len(values) == 1 and (_is_there(values[0]) or "=" not in values[0]):
        return values[0]
    found = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals or name in found:
            raise InvalidArgumentError(
                f"--{option}: several values must be given by name as NAME=VALUE; got {value!r}"
            )
        found[name] = rest
    return found


def scalings(values: list[str] | None) -> "Scaling | dict[str, Scaling] | None":
    """Parse the values of `--normalization`: one scaling, or one for each named input.

    Raises:
        InvalidArgumentError: a value does not have the form of the option.
    """
    from pinnace.deploy.program.pixels import scaling_of

    told = one_or_named("normalization", values)
    if told is None:
        return None
    if isinstance(told, dict):
        return {name: scaling_of(one) for name, one in told.items()}
    return scaling_of(told)


def _is_there(path: str) -> bool:
    """Whether a value is the path of a file, whose name may contain `=`."""
    return Path(path).is_file()


def page_line(place: Path) -> str:
    """The line to print about a page that was written."""
    return f"{place}: a page; look at it with: python -m http.server -d {place}"
