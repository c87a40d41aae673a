"""get_file: downloads a file once into a folder of the user."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

_PIECE = 1 << 20
_WAIT_S = 60.0
# Digests by their number of hexadecimal digits.
_DIGESTS = {32: "md5", 64: "sha256"}
_ARCHIVES = ("tar", "zip")


def get_file(
    fname: str | os.PathLike[str] | None = None,
    origin: str | None = None,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: str | Sequence[str] | None = "auto",
    cache_dir: str | os.PathLike[str] | None = None,
    force_download: bool = False,
) -> str:
    """A file from a URL, fetched once.

    Args:
        fname: its name in the folder; the last part of the URL if None.
        origin: the URL: `https://`, `http://`, `ftp://` or `file://`.
        untar: as `extract`, of tar archives alone.
        md5_hash: accepted for older programs: as `file_hash`.
        file_hash: hexadecimal digest of the file; a cached file with another one is fetched again,
            and an error follows if it still differs.
        cache_subdir: folder inside `cache_dir`, or a whole path.
        hash_algorithm: `md5`, `sha256`, or `auto`: by the digest's length.
        extract: whether an archive is unpacked into a folder beside it.
        archive_format: `auto`, `tar`, `zip`, several of them, or None for no archive.
        cache_dir: `~/.keras` if None, or what `KERAS_HOME` says.
        force_download: whether it is fetched although it is there.

    Returns:
        The path of the file, or of the folder it was unpacked to.

    Raises:
        ValueError: no URL, a digest that does not fit, or an archive that reaches beyond its
            folder.
        OSError: the file cannot be fetched or written; an existing file stays.
    """
    if origin is None:
        raise ValueError("get_file: origin must be a URL, got None")
    digest = md5_hash if file_hash is None else file_hash
    path, target = places(cache_folder(cache_dir) / cache_subdir, fname, origin, extract or untar)
    path.parent.mkdir(parents=True, exist_ok=True)
    if force_download or not path.is_file() or not _has_digest(path, digest, hash_algorithm):
        _fetch(origin, path, digest, hash_algorithm)
    elif target is not None and target.is_dir():
        return str(target)
    if target is None:
        return str(path)
    _unpack(path, target, "tar" if untar else archive_format)
    return str(target)


def cache_folder(given: str | os.PathLike[str] | None = None) -> Path:
    """The folder for files: the given one, that of `KERAS_HOME`, or `~/.keras`."""
    folder = Path(given or os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    return folder.expanduser()


def places(folder: Path, fname: Any, origin: str, unpacks: bool) -> tuple[Path, Path | None]:
    """The path of the file, and the folder it is extracted to; None if it is not an archive.

    Args:
        folder: its folder.
        fname: its name there; the last part of the URL if None.
        origin: the URL.
        unpacks: whether it is an archive that is unpacked.

    Raises:
        ValueError: `fname` has folders, or there is no name.
    """
    given = "" if fname is None else os.fspath(fname)
    if os.sep in given:
        raise ValueError(f"get_file: fname must be a name without folders, got {given!r}")
    name = given or urlsplit(origin).path.rsplit("/", 1)[-1]
    if not name:
        raise ValueError(f"get_file: fname must be given: {origin!r} ends in no name")
    if not unpacks:
        return folder / name, None
    if given and "." in name:
        return folder / name, folder / f"{name.split('.', 1)[0]}_extracted"
    return folder / f"{name}_archive", folder / name


def _has_digest(path: Path, digest: str | None, algorithm: str) -> bool:
    if digest is None:
        return True
    if algorithm == "auto":
        algorithm = _DIGESTS.get(len(digest), "")
    if algorithm not in _DIGESTS.values():
        raise ValueError(
            f"get_file: file_hash must have 32 (md5) or 64 (sha256) digits, got {len(digest)}"
        )
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest() == digest.lower()


def _fetch(origin: str, path: Path, digest: str | None, algorithm: str) -> None:
    """Download a file; it appears in its place when it is complete and verified."""
    from urllib.request import urlopen

    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        part = Path(folder) / path.name
        with part.open("wb") as file, urlopen(origin, timeout=_WAIT_S) as answer:
            total = int(answer.headers.get("Content-Length") or 0)
            _copy(answer, file, origin, total)
        size = part.stat().st_size
        if total and size != total:
            raise OSError(f"get_file: {origin} ended after {size} of {total} bytes")
        if not _has_digest(part, digest, algorithm):
            raise ValueError(
                f"get_file: Incomplete or corrupted file: {origin} has not the digest {digest}"
            )
        part.replace(path)


def _copy(answer: Any, part: Any, origin: str, total: int) -> None:
    """Copy the answer, with a progress bar on a terminal."""
    if not sys.stderr.isatty():
        shutil.copyfileobj(answer, part, _PIECE)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(origin, total=total or None)
        while piece := answer.read(_PIECE):
            part.write(piece)
            bar.advance(task, len(piece))


def _unpack(path: Path, target: Path, formats: str | Sequence[str] | None) -> None:
    """Unpack beside the archive, then rename, so that an existing folder is complete."""
    if formats is None:
        return
    allowed = _ARCHIVES if formats == "auto" else formats
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        part = Path(folder) / target.name
        if "tar" in allowed and tarfile.is_tarfile(path):
            with tarfile.open(path) as archive:
                try:
                    archive.extractall(part, filter="data")
                except tarfile.FilterError as error:
                    raise ValueError(f"get_file: {path}: {error}") from error
        elif "zip" in allowed and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as zipped:
                zipped.extractall(part)
        else:
            raise ValueError(f"get_file: {path} is not an archive of the kinds {allowed}")
        if target.exists():
            shutil.rmtree(target)
        part.replace(target)
