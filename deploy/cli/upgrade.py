"""`pinnace upgrade`: migrates programs from TensorFlow 1 to TensorFlow 2."""

# No `from __future__ import annotations`: typer reads the annotations.
import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pinnace.deploy.cli.terminal import Terminal

if TYPE_CHECKING:
    from pinnace.deploy.upgrade.files import UpgradedFile
    from pinnace.deploy.upgrade.options import Options


class Mode(enum.StrEnum):
    """The extent of the rewriting."""

    DEFAULT = "DEFAULT"
    SAFETY = "SAFETY"


_NO = {"0", "false", "n", "no", "off"}
_YES = {"1", "on", "true", "y", "yes"}


def upgrade(
    infile: Annotated[
        Path | None,
        typer.Option("--infile", help="A Python file or notebook.", show_default=False),
    ] = None,
    outfile: Annotated[
        Path | None,
        typer.Option("--outfile", help="Where it is written, upgraded.", show_default=False),
    ] = None,
    intree: Annotated[
        Path | None,
        typer.Option("--intree", help="A folder, with all in it.", show_default=False),
    ] = None,
    outtree: Annotated[
        Path | None,
        typer.Option(
            "--outtree",
            help="Where it is written, upgraded: a path that does not exist.",
            show_default=False,
        ),
    ] = None,
    copyotherfiles: Annotated[
        str, typer.Option(help="Whether other files of the folder are copied.", metavar="BOOL")
    ] = "true",
    inplace: Annotated[
        bool, typer.Option("--inplace", help="Write over the file, or the files of the folder.")
    ] = False,
    reportfile: Annotated[
        Path, typer.Option(help="Where everything that was done is told.")
    ] = Path("report.txt"),
    mode: Annotated[
        Mode,
        typer.Option(
            help="DEFAULT: names of version 2, and compat.v1 where they differ. SAFETY: names "
            "stay, and compat.v1 is imported."
        ),
    ] = Mode.DEFAULT,
    print_all: Annotated[
        bool, typer.Option("--print_all", help="Print all of the report.")
    ] = False,
    no_import_rename: Annotated[
        bool,
        typer.Option(
            "--no_import_rename",
            help="Taken for the sake of scripts: imports are not renamed to compat.v2 anyway.",
        ),
    ] = False,
    no_upgrade_compat_v1_import: Annotated[
        bool,
        typer.Option(
            "--no_upgrade_compat_v1_import",
            help="Leave programs alone that import tensorflow.compat.v1 as tf.",
        ),
    ] = False,
    module: Annotated[
        str,
        typer.Option(
            help="What programs import in TensorFlow's place, such as pinnace; what it does not "
            "have is in the report.",
            metavar="MODULE",
        ),
    ] = "tensorflow",
) -> int:
    """Rewrite programs of TensorFlow 1 for version 2; flags are those of tf_upgrade_v2.

    Names, and arguments that were renamed or reordered, are rewritten; all else stays as it is. The
    report tells by file and line what a person must look at, why, and what to do.
    """
    del no_import_rename
    from pinnace.deploy.upgrade.options import Options
    from pinnace.deploy.upgrade.reports import full_report, summary

    options = Options(
        safety=mode is Mode.SAFETY,
        upgrade_version_1_imports=not no_upgrade_compat_v1_import,
        module=module,
    )
    others = _flag(copyotherfiles)
    files = _upgraded((infile, outfile), (intree, outtree), options, inplace=inplace, others=others)
    report = full_report(files)
    reportfile.write_text(report, encoding="utf-8")
    terminal = Terminal()
    for line in (report if print_all else summary(files)).splitlines():
        terminal.line(line)
    terminal.line(f"Everything that was done: {reportfile}")
    # Changes left to the user are reported and do not fail the command, as in TensorFlow's script.
    return 0 if all(file.read for file in files) else 1


def _upgraded(
    files: tuple[Path | None, Path | None],
    trees: tuple[Path | None, Path | None],
    options: "Options",
    *,
    inplace: bool,
    others: bool,
) -> "list[UpgradedFile]":
    from pinnace.deploy.upgrade.files import upgrade_file, upgrade_tree

    (infile, outfile), (intree, outtree) = files, trees
    if (infile is None) == (intree is None):
        raise typer.BadParameter("expected --infile or --intree, one of the two")
    target = outtree if infile is None else outfile
    wanted = "--outtree" if infile is None else "--outfile"
    if (outfile if infile is None else outtree) is not None:
        raise typer.BadParameter("--outfile goes with --infile, and --outtree with --intree")
    if inplace == (target is not None):
        raise typer.BadParameter(f"expected {wanted} or --inplace, one of the two")
    if infile is not None:
        return [upgrade_file(infile, target or infile, options)]
    assert intree is not None  # noqa: S101 (a file or a tree is given)
    return upgrade_tree(intree, target or intree, options, copy_others=others)


def _flag(text: str) -> bool:
    if text.lower() not in _NO | _YES:
        raise typer.BadParameter(f"--copyotherfiles must be true or false, got {text!r}")
    return text.lower() in _YES
