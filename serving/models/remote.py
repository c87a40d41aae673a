"""Versions at a URL → copies on this machine, through fsspec: s3, gs, http, memory and others.

A version is fetched whole before it is loaded, into a folder that is given its name when it is
complete, never visible by half. The copies of a URL are kept in the cache folder, so that a server
that starts again, and its workers, fetch nothing twice; `PINNACE_CACHE` says where that is. Those
of versions that were replaced go, but for the last few. Who may read a store, and where it is, say
the variables of the library that speaks to it (`AWS_ACCESS_KEY_ID`…) or fsspec's own
(`FSSPEC_S3_ENDPOINT_URL`…).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pinnace.framework import config
from pinnace.framework.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
)
from pinnace.framework.extras import install_command
from pinnace.serving.errors import LOG, one_line
from pinnace.serving.models.private_copy import (
    SPARE_BYTES,
    PrivateCopy,
    locked,
    open_copy,
    private_folder,
    sweep,
)
from pinnace.serving.models.versions import version_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEPT = 2  # unused copies of one URL that stay
_MAX_FILES = 10_000
_PACKAGES = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
# Of what a store knows about a file: what is another when the file is.
_FACTS = ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "created")


@dataclass(frozen=True, slots=True)
class RemoteVersion:
    """A version at a URL.

    Attributes:
        base: the model's URL, for the cache.
        url: of the version, for messages.
        store: fsspec's file system.
        path: of the version in it.
        is_file: whether it is one file.
    """

    base: str
    url: str
    store: Any
    path: str
    is_file: bool

    def fingerprint(self) -> tuple[object, ...]:
        """A fingerprint that changes when the version's files are replaced."""
        try:
            return tuple(sorted(self._files().items()))
        except OpError as error:
            return (str(error),)

    @contextmanager
    def fetched(self) -> Iterator[Path]:
        """Its copy on this machine.

        Raises:
            UnavailableError: it cannot be fetched now, or changes meanwhile.
            ResourceExhaustedError: there is no space for it.
            DataLossError: a file came shorter or longer than it is.
        """
        copy = self._fetch()
        try:
            yield copy.path / PurePosixPath(self.path).name if self.is_file else copy.path
        finally:
            copy.release()

    def _fetch(self) -> PrivateCopy:
        files = self._files()
        root, keeps = _root_of(self.base)
        path = root / _name_of(self.path, files)
        # Held as long as it takes: who wants the same version waits, and finds it.
        with locked(root):
            found = open_copy(path, keeps=keeps)
            if found is not None:
                return found
            sweep(root, spared=_KEPT if keeps else 0)
            part = root / f".{path.name}"
            part.mkdir(mode=0o700)
            try:
                self._fetch_files(files, part)
                part.rename(path)
            except BaseException:
                shutil.rmtree(part, ignore_errors=True)
                raise
            found = open_copy(path, keeps=keeps)
        if found is None:
            raise UnavailableError(f"{path}: was removed while it was used")
        return found

    def _files(self) -> dict[str, tuple[object, ...]]:
        """Size and marks of each file, by its path below the version."""
        with _asking(self.url):
            self.store.invalidate_cache()
            if self.is_file:
                info = self.store.info(self.path)
                return {PurePosixPath(self.path).name: _facts(info)}
            listed: Mapping[str, Any] = self.store.find(self.path, detail=True)
        if not listed:
            raise NotFoundError(f"{self.url}: has no files")
        if len(listed) > _MAX_FILES:
            raise InvalidArgumentError(f"{self.url}: more than {_MAX_FILES} files")
        base = PurePosixPath(self.path)
        found = {}
        for name, info in listed.items():
            try:
                inside = PurePosixPath(name).relative_to(base)
            except ValueError:
                inside = PurePosixPath("..")
            if ".." in inside.parts or inside.is_absolute() or "\0" in name:
                raise InvalidArgumentError(f"{self.url}: '{name}' is not within it")
            found[str(inside)] = _facts(info)
        return found

    def _fetch_files(self, files: Mapping[str, tuple[object, ...]], to: Path) -> None:
        size = sum(known for known, *_ in files.values() if isinstance(known, int))
        if shutil.disk_usage(to).free < size + SPARE_BYTES:
            raise ResourceExhaustedError(
                f"{self.url}: {to.parent} has no space for {size} bytes\n"
                "  Try: PINNACE_CACHE=FOLDER, with space"
            )
        LOG.info("fetching %s, %.1f MB", self.url, size / 1e6)
        for name, (known, *_) in files.items():
            target = to / name
            target.parent.mkdir(parents=True, exist_ok=True)
            source = self.path if self.is_file else f"{self.path.rstrip('/')}/{name}"
            with _asking(f"{self.url}, {name}"):
                self.store.get_file(source, str(target))
            came = target.stat().st_size
            if isinstance(known, int) and came != known:
                raise DataLossError(f"{self.url}: '{name}' has {known} bytes, {came} came")
        if self._files() != files:
            raise UnavailableError(f"{self.url}: changes while it is read; trying again later")


def find_remote_versions(base_url: str) -> dict[int, RemoteVersion]:
    """The versions at a URL, by number.

    Args:
        base_url: of numbered folders; or of a SavedModel or an ONNX file, its own version 1.

    Raises:
        FailedPreconditionError: the package that speaks to the store is not installed.
        InvalidArgumentError: no package knows the URL's scheme.
        NotFoundError: there is nothing.
        UnavailableError: the store does not answer.
    """
    if not hasattr(os, "getuid"):
        raise UnimplementedError(f"{base_url}: models at URLs need a system with file locks")
    store, path = _open_store(base_url)
    base = path.rstrip("/")

    def version(url: str, at: str, is_file: bool = False) -> RemoteVersion:
        return RemoteVersion(base_url, url, store, at, is_file)

    with _asking(base_url):
        store.invalidate_cache()
        if base.endswith(".onnx") and store.isfile(base):
            return {1: version(base_url, base, is_file=True)}
        entries = store.ls(path, detail=True)
    found: dict[int, RemoteVersion] = {}
    for entry in sorted(entries, key=lambda entry: str(entry["name"])):
        where = str(entry["name"]).rstrip("/")
        name = PurePosixPath(where).name
        if name == "saved_model.pb" and entry.get("type") != "directory":
            return {1: version(base_url, base)}
        number = version_named(name)
        if number is not None and entry.get("type") == "directory":
            found.setdefault(number, version(f"{base_url.rstrip('/')}/{name}", where))
    return found


def _open_store(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise FailedPreconditionError(
            f"{url}: models at URLs need fsspec\n  Try: {install_command('remote')}"
        ) from None
    scheme = url.partition(":")[0].lower()
    try:
        # Listings that the store remembers would hide new versions.
        store, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        extra = _PACKAGES.get(scheme)
        remedy = install_command(extra) if extra else one_line(error)
        raise FailedPreconditionError(f"{url}: {one_line(error)}\n  Try: {remedy}") from None
    except ValueError as error:
        raise InvalidArgumentError(f"{url}: {one_line(error)}") from None
    except Exception as error:  # stores raise whatever their libraries do
        raise UnavailableError(f"{url}: {_reason(error)}") from None
    return store, str(path)


@contextmanager
def _asking(url: str) -> Iterator[None]:
    """A block in which a store is asked: what it raises becomes one of this library's errors."""
    try:
        yield
    except OpError:
        raise
    except FileNotFoundError:
        raise NotFoundError(f"{url}: there is no such file or folder") from None
    except PermissionError as error:
        raise UnavailableError(f"{url}: may not be read: {_reason(error)}") from None
    except Exception as error:  # stores raise whatever their libraries do
        raise UnavailableError(f"{url}: {_reason(error)}") from None


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {one_line(error)}" if str(error) else type(error).__name__


def _facts(info: Mapping[str, Any]) -> tuple[object, ...]:
    return (info.get("size"), *(str(info.get(key, "")) for key in _FACTS))


def _root_of(base: str) -> tuple[Path, bool]:
    """The folder for copies of a URL, and whether they stay when unused."""
    name = blake2b(base.encode(), digest_size=12).hexdigest()
    cache = config.settings.cache
    if cache is not None:
        with contextlib.suppress(OSError):
            return private_folder(cache / "models" / name), True
    # Not beside the copies of local folders: they are swept together.
    return private_folder(Path(tempfile.gettempdir()) / f"pinnace-{os.getuid()}-{name}"), False


def _name_of(path: str, files: Mapping[str, tuple[object, ...]]) -> str:
    digest = blake2b(digest_size=12)
    for name, facts in sorted(files.items()):
        digest.update(f"{name}\0{facts}\0".encode())
    return f"{PurePosixPath(path).name[:40]}-{digest.hexdigest()}"
