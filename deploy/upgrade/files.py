"""Files and folders: what is upgraded, what is copied, and where."""

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
        findings: the changes, and the advice for the user.
        changed: whether the files differ.
        read: whether the source is Python 3; otherwise it was copied unchanged.
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
        options: the options; None for the defaults.

    Returns:
        The result. A file that is not Python 3 is copied unchanged.

    Raises:
        ValueError: the file has another suffix.
        OSError: the file cannot be read or written.
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
    """Upgrade all Python files and notebooks below a folder.

    Args:
        source: the folder.
        target: the new folder: a path that does not exist, or `source`. Links are recreated in a
            new folder, and left alone in place.
        options: the options; None for the defaults.
        copy_others: whether to copy other files.

    Returns:
        The result for each file, by path.

    Raises:
        ValueError: the target exists, or the source is not a folder.
        OSError: a file cannot be read or written.
    """
    if not source.is_dir():
        raise ValueError(f"upgrade: expected a folder, got {source}")
    in_place = target.resolve() == source.resolve()
    if not in_place and target.exists():
        raise ValueError(
            f"upgrade: {target} exists, and is not overwritten\n  Try: another --outtree"
        )
    done = []
    # List the files first, as the target may be inside the source.
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
    """The target of a link in the new folder; links inside the old folder are redirected."""
    shown = file.readlink()
    if not shown.is_absolute() or not shown.is_relative_to(source.resolve()):
        return shown
    return target.resolve() / shown.relative_to(source.resolve())
