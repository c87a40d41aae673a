"""Versions at a URL, downloaded through fsspec: s3, gs, http, memory and others.

A version is downloaded completely before it is loaded, into a folder that is renamed when it is
complete. The copies are kept in the cache folder, so that a restarted server, and its workers, do
not download them again; `PINNACE_CACHE` sets the folder. Copies of replaced versions are deleted,
except for the last few. Credentials and endpoints come from the environment variables of the
storage libraries (`AWS_ACCESS_KEY_ID`…) or fsspec's own (`FSSPEC_S3_ENDPOINT_URL`…).
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
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
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
    UnimplementedError,
)
from pinnace.framework.extras import install_command
from pinnace.serving.config.urls import public_text, public_url
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

_KEPT = 2  # unused copies to keep per URL
_MAX_FILES = 10_000  # files and folders of a version
_DEEPEST = 32  # the deepest nesting of folders
_DOWN = ("https", "http")
_PACKAGES = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
# Attributes of a file that stores report and that change with its content.
_FACTS = ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "created")


@dataclass(frozen=True, slots=True)
class RemoteVersion:
    """A version at a URL.

    Attributes:
        base: the model's URL, including its secrets.
        url: the version's URL, for messages.
        store: the fsspec file system.
        path: the version's path in it.
        is_file: whether the version is one file.
    """

    base: str = field(repr=False)
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
        """Its copy on this machine, downloaded if necessary.

        Raises:
            UnavailableError: it cannot be downloaded now, or changes meanwhile.
            ResourceExhaustedError: the disk has no space for it.
            DataLossError: a file is shorter or longer than the store says.
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
        # Locked during the download: others that need the same version wait for it.
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
        with asking(self.base, self.url):
            self.store.invalidate_cache()
            if self.is_file:
                info = self.store.info(self.path)
                return {PurePosixPath(self.path).name: _facts(info)}
        found = dict(self._listed())
        if not found:
            raise NotFoundError(f"{self.url}: has no files")
        for name in found:
            above = next((str(p) for p in PurePosixPath(name).parents if str(p) in found), None)
            if above is not None:
                raise InvalidArgumentError(
                    f"{self.url}: {_shown(above)} is a file, and {_shown(name)} is within it"
                )
        return found

    def _listed(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        """Its files by relative path, folder by folder, with a limit on their number."""
        base = PurePosixPath(self.path)
        folders = [self.path]
        seen = {base}
        count = 0
        while folders:
            with asking(self.base, self.url):
                entries: list[Mapping[str, Any]] = self.store.ls(folders.pop(), detail=True)
            for entry in entries:
                name = str(entry["name"])
                count += 1
                if count > _MAX_FILES:
                    raise InvalidArgumentError(f"{self.url}: more than {_MAX_FILES} files")
                path = PurePosixPath(name)
                inside = _within(path, base)
                if inside is None:
                    raise InvalidArgumentError(f"{self.url}: {_shown(name)} is not within it")
                if len(inside.parts) > _DEEPEST or max(map(_size, inside.parts), default=0) > 255:
                    raise InvalidArgumentError(f"{self.url}: {_shown(name)} is too long a name")
                if entry.get("type") != "directory":
                    if inside.parts:  # otherwise it is the folder's own marker
                        yield str(inside), _facts(entry)
                elif path not in seen:
                    seen.add(path)
                    folders.append(name)

    def _fetch_files(self, files: Mapping[str, tuple[object, ...]], to: Path) -> None:
        size = sum(_known(facts) or 0 for facts in files.values())
        room = shutil.disk_usage(to).free - SPARE_BYTES
        if room < size:
            raise self._without_space(to, size)
        LOG.info("fetching %s, %.1f MB", self.url, size / 1e6)
        for name, facts in files.items():
            known = _known(facts)
            target = to / name
            target.parent.mkdir(parents=True, exist_ok=True)
            source = self.path if self.is_file else f"{self.path.rstrip('/')}/{name}"
            too_long: OpError = DataLossError(
                f"{self.url}: '{name}' has {known} bytes, and more came"
            )
            if known is None:
                too_long = self._without_space(to, room)
            with asking(self.base, f"{self.url}, {name}"):
                most = _at_most(room if known is None else known, too_long)
                self.store.get_file(source, str(target), callback=most)
            came = target.stat().st_size
            room -= came
            if known is not None and came != known:
                raise DataLossError(f"{self.url}: '{name}' has {known} bytes, {came} came")
        if self._files() != files:
            raise UnavailableError(f"{self.url}: changes while it is read; trying again later")

    def _without_space(self, to: Path, size: int) -> ResourceExhaustedError:
        return ResourceExhaustedError(
            f"{self.url}: {to.parent} has no space for {size} bytes\n"
            "  Try: PINNACE_CACHE=FOLDER, with space"
        )


def find_remote_versions(base_url: str) -> dict[int, RemoteVersion]:
    """Return the versions at a URL, by number.

    Args:
        base_url: a URL of numbered folders, or of a SavedModel or an ONNX file, its own version 1.

    Raises:
        FailedPreconditionError: the package for the store is not installed.
        InvalidArgumentError: the URL's scheme is unknown.
        NotFoundError: the URL has no versions.
        UnavailableError: the store does not respond.
    """
    shown = public_url(base_url)
    if not hasattr(os, "getuid"):
        raise UnimplementedError(
            f"{shown}: models at URLs need a system with file locks\n"
            "  Try: copy them to a folder of this machine, and serve that"
        )
    store, path = open_store(base_url)
    base = path.rstrip("/")

    def version(url: str, at: str, is_file: bool = False) -> RemoteVersion:
        return RemoteVersion(base_url, url, store, at, is_file)

    with asking(base_url):
        store.invalidate_cache()
        if base.endswith(".onnx") and store.isfile(base):
            return {1: version(shown, base, is_file=True)}
        entries = store.ls(path, detail=True)
    if len(entries) > _MAX_FILES:
        raise InvalidArgumentError(f"{shown}: more than {_MAX_FILES} files and folders")
    found: dict[int, RemoteVersion] = {}
    for entry in sorted(entries, key=lambda entry: str(entry["name"])):
        where = str(entry["name"]).rstrip("/")
        name = PurePosixPath(where).name
        if name in ("saved_model.pb", "saved_model.pbtxt") and entry.get("type") != "directory":
            return {1: version(shown, base)}
        number = version_named(name)
        if number is not None and entry.get("type") == "directory":
            found.setdefault(number, version(f"{shown.rstrip('/')}/{name}", where))
    return found


def open_store(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    shown = public_url(url)
    try:
        import fsspec
    except ImportError:
        raise FailedPreconditionError(
            f"{shown}: URLs need fsspec\n  Try: {install_command('remote')}"
        ) from None
    scheme = url.partition(":")[0].lower()
    try:
        options = {
            name: {"client_kwargs": {"trace_configs": [_same_host()]}}
            for name in ("http", "https")
            if re.search(rf"(?:^|::){name}://", url, re.IGNORECASE)
        }
        # Cached listings would hide new versions.
        store, path = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    except ImportError as error:
        extra = _PACKAGES.get(scheme)
        remedy = install_command(extra) if extra else one_line(error)
        raise FailedPreconditionError(f"{shown}: {one_line(error)}\n  Try: {remedy}") from None
    except ValueError as error:
        raise InvalidArgumentError(f"{shown}: {public_text(one_line(error), url)}") from None
    except Exception as error:  # stores raise errors of their libraries
        raise UnavailableError(f"{shown}: {_reason(error, url)}") from None
    return store, str(path)


@functools.cache
def _same_host() -> Any:
    """Prevents aiohttp from following redirects to other hosts: only the URL's host is trusted."""
    import aiohttp

    async def judge(_: object, __: object, redirect: Any) -> None:
        where = redirect.response.headers.get("Location") or redirect.response.headers.get("URI")
        target = redirect.url.join(type(redirect.url)(where or ""))
        if target.host != redirect.url.host or (redirect.url.scheme, target.scheme) == _DOWN:
            raise PermissionDeniedError(
                f"{redirect.url.host} sends on to {target.scheme}://{target.host}, "
                "and only the host of the URL is asked\n  Try: the URL that it sends on to"
            )

    config = aiohttp.TraceConfig()
    config.on_request_redirect.append(judge)
    return config


def _at_most(size: int, error: OpError) -> Any:
    """Return a callback that raises an error as soon as more bytes have arrived."""
    from fsspec.callbacks import Callback

    class AtMost(Callback):  # type: ignore[misc]  # fsspec has no types
        def relative_update(self, inc: int = 1) -> None:
            super().relative_update(inc)
            if self.value > size:
                raise error

    return AtMost()


@contextmanager
def asking(url: str, what: str = "") -> Iterator[None]:
    """A context for requests to a store: exceptions become errors of this library.

    Args:
        url: the URL.
        what: its part that is requested, for messages; the URL if empty.
    """
    what = what or public_url(url)
    try:
        yield
    except OpError as error:
        if what in str(error):
            raise
        raise type(error)(f"{what}: {error}") from None
    except FileNotFoundError:
        raise NotFoundError(f"{what}: there is no such file or folder") from None
    except PermissionError as error:
        raise UnavailableError(f"{what}: may not be read: {_reason(error, url)}") from None
    except Exception as error:  # stores raise errors of their libraries
        raise UnavailableError(f"{what}: {_reason(error, url)}") from None


def _reason(error: BaseException, url: str) -> str:
    return public_text(one_line(error), url)


def _within(path: PurePosixPath, base: PurePosixPath) -> PurePosixPath | None:
    """The path below a folder; None if it is elsewhere or invalid."""
    try:
        inside = path.relative_to(base)
    except ValueError:
        return None
    return None if ".." in inside.parts or "\0" in str(path) else inside


def _shown(name: str) -> str:
    """A name from a store, escaped for errors: terminals and logs interpret some characters."""
    return ascii(name[:200])


def _size(name: str) -> int:
    return len(name.encode("utf-8", "surrogatepass"))


def _known(facts: tuple[object, ...]) -> int | None:
    """The size of a file if the store gives it, else None."""
    size = facts[0]
    return size if isinstance(size, int) and size >= 0 else None


def _facts(info: Mapping[str, Any]) -> tuple[object, ...]:
    return (info.get("size"), *(str(info.get(key, "")) for key in _FACTS))


def _root_of(base: str) -> tuple[Path, bool]:
    """The folder for copies of a URL, and whether unused ones are kept."""
    name = blake2b(base.encode(), digest_size=12).hexdigest()
    cache = config.settings.cache
    if cache is not None:
        with contextlib.suppress(OSError):
            return private_folder(cache / "models" / name), True
    # Separate from the copies of local folders, which are cleaned up together.
    return private_folder(Path(tempfile.gettempdir()) / f"pinnace-{os.getuid()}-{name}"), False


def _name_of(path: str, files: Mapping[str, tuple[object, ...]]) -> str:
    digest = blake2b(digest_size=12)
    for name, facts in sorted(files.items()):
        digest.update(f"{name}\0{facts}\0".encode())
    return f"{PurePosixPath(path).name[:40]}-{digest.hexdigest()}"
