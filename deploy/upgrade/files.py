"""Files and folders: what is upgraded, what is copied, and where to."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pinnace.deploy.upgrade.notebooks import upgrade_notebook
from pinnace.deploy.upgrade.options import Options
from pinnace.deploy.upgrade.sources import upgrade_source
from pinnace.storage.atomic import write_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.deploy.upgrade.findings import Finding
    from pinnace.deploy.upgrade.program import Upgraded

_KINDS: dict[str, Callable[[bytes, Options], tuple[bytes, Upgraded]]] = {
    ".py": upgrade_source,
    ".ipynb": upgrade_notebook,
}


@dataclass(frozen=True, slots=True)
class UpgradedFile:
    """A file that was upgraded.

    Attributes:
        source: the file of version 1.
        target: the file of version 2.
        findings: what was changed, and what a person must do.
        changed: whether the two differ.
        read: whether it was Python 3; otherwise it was copied as it is.
    """

    source: Path
    target: Path
    findings: tuple[Finding, ...]
    changed: bool
    read: bool


def upgrade_file(source: Path, target: Path, options: Options | None = None) -> UpgradedFile:
    """Upgrade one file.

    Args:
        source: a Python file or a notebook: `.py` or `.ipynb`.
        target: where the upgraded file is written; may be `source`. Its folder must exist.
        options: how; None: as they are by default.

    Returns:
        What was done. A file that cannot be read as Python is written as it is.

    Raises:
        ValueError: the file is neither.
        OSError: it cannot be read or written.
    """
    options = options or Options()
    kind = _KINDS.get(source.suffix)
    if kind is None:
        raise ValueError(
            f"upgrade: expected a .py or .ipynb file, got {source}\n"
            "  Try: --intree and --outtree for a folder"
        )
    before = source.read_bytes()
    after, upgraded = kind(before, options)
    if after != before or target != source:
        write_file(target, after)
        if target != source:
            shutil.copymode(source, target)
    return UpgradedFile(source, target, upgraded.findings, after != before, upgraded.read)


def upgrade_tree(
    source: Path, target: Path, options: Options | None = None, *, copy_others: bool = True
) -> list[UpgradedFile]:
    """Upgrade all Python files and notebooks of a folder and of those in it.

    Args:
        source: the folder.
        target: where the upgraded folder is made: a path that does not exist, or `source`. Links
            are made anew there; in place they are left alone.
        options: how; None: as they are by default.
        copy_others: whether other files are copied.

    Returns:
        What was done with each, by path.

    Raises:
        ValueError: the target exists, or the source is no folder.
        OSError: something cannot be read or written.
    """
    if not source.is_dir():
        raise ValueError(f"upgrade: expected a folder, got {source}")
    in_place = target.resolve() == source.resolve()
    if not in_place and target.exists():
        raise ValueError(
            f"upgrade: {target} exists, and nothing in it is overwritten\n  Try: another --outtree"
        )
    done = []
    # The list is made first: the target may be a folder in the source.
    for file in sorted(_files(source)):
        new = target / file.relative_to(source)
        of_interest = file.suffix in _KINDS
        if in_place:
            if of_interest and not file.is_symlink():
                done.append(upgrade_file(file, file, options))
        elif of_interest or copy_others:
            new.parent.mkdir(parents=True, exist_ok=True)
            if file.is_symlink():
                new.symlink_to(_link(file, source, target))
            elif of_interest:
                done.append(upgrade_file(file, new, options))
            else:
                shutil.copy(file, new)
    return done


def _files(folder: Path) -> list[Path]:
    return [
        Path(above) / name
        for above, folders, names in os.walk(folder)
        for name in (*names, *(each for each in folders if (Path(above) / each).is_symlink()))
    ]


def _link(file: Path, source: Path, target: Path) -> Path:
    """The target of a link in the new folder: a file of the new folder if it was one of the old."""
    shown = file.readlink()
    if not shown.is_absolute() or not shown.is_relative_to(source.resolve()):
        return shown
    return target.resolve() / shown.relative_to(source.resolve())
