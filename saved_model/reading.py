"""`load`: a SavedModel folder to an object; the steps in order."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from pinnace.framework import tracebacks
from pinnace.framework.context import init_scope
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    MissingFileError,
    OpError,
    UnavailableError,
)
from pinnace.framework.process_effects import collector_paused
from pinnace.proto.saved_model_pb2 import MetaGraphDef, SavedModel
from pinnace.saved_model import layout
from pinnace.saved_model.fingerprints import check_fingerprint
from pinnace.saved_model.options import LoadOptions
from pinnace.saved_model.restoring import Loader
from pinnace.saved_model.text_form import parse_text
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


# If the folder is replaced while it is read, reading starts again, at most this many times.
_TRIES = 10


@tracebacks.entry
def load(
    export_dir: str | os.PathLike[str],
    tags: str | Iterable[str] | None = None,
    options: LoadOptions | None = None,
) -> Any:
    """Load a SavedModel.

    Functions are decoded when they are first called, variables mapped when they are first read.

    Args:
        export_dir: the folder.
        tags: the tags of the graph; None takes the only one, or that for serving.
        options: see `LoadOptions`.

    Returns:
        An object whose attributes are the saved object's children, with `signatures`, a mapping
        from names to concrete functions.

    Raises:
        NotFoundError: there is no such model (then also an OSError), or a part of it is missing.
        DataLossError: a file is damaged.
        InvalidArgumentError: no graph has these tags, or a part of the model is invalid.

    Source:
        TensorFlow `tf.saved_model.load`.
    """
    _refuse_address(os.fspath(export_dir))
    wanted = [tags] if isinstance(tags, str) else None if tags is None else list(tags)
    return load_and(Path(export_dir), lambda _meta, _loader, root: root, wanted, options)


def load_and(
    folder: Path,
    use: Callable[[MetaGraphDef, Loader | None, Any], Any],
    wanted: list[str] | None = None,
    options: LoadOptions | None = None,
) -> Any:
    """Return the result of `use`, applied to a SavedModel that is not replaced meanwhile.

    Args:
        folder: the SavedModel's folder.
        use: takes the graph, the loader (None for version 1), and the root.
        wanted: tags; see `load`.
        options: see `load`.
    """
    chosen = options or LoadOptions()
    with init_scope():
        for _ in range(_TRIES):
            with _held(folder) as before:
                try:
                    with collector_paused():
                        found = use(*_load(folder, wanted, chosen))
                except OpError:
                    if _identity(folder) == before:
                        raise
                else:
                    if _identity(folder) == before:
                        return found
    raise UnavailableError(f"{folder} was replaced again and again while it was being loaded")


def _load(
    folder: Path, tags: list[str] | None, options: LoadOptions
) -> tuple[MetaGraphDef, Loader | None, Any]:
    meta = choose_graph(
        read_messages(folder, whole=options.verify), tags, layout.model_path(folder)
    )
    if not meta.HasField("object_graph_def"):
        # Imported here: it needs the ops of datasets and trees, and few models are so old.
        from pinnace.saved_model.v1_graphs import load_main_graph

        return meta, None, load_main_graph(folder, meta, options)
    loader = Loader(folder, meta, options)
    return meta, loader, loader.load()


@contextmanager
def _held(folder: Path) -> Iterator[tuple[int, int] | None]:
    """The folder's identity, which no other folder can get inside this block.

    An open folder keeps its inode number. Otherwise, of two consecutive saves the second may get
    the number that the first has freed.
    """
    handle = None
    with suppress(OSError):  # it is missing, or the system cannot open folders
        handle = os.open(folder, os.O_RDONLY)
    if handle is None:
        yield _identity(folder)
        return
    try:
        status = os.fstat(handle)
        yield status.st_dev, status.st_ino
    finally:
        os.close(handle)


def _identity(folder: Path) -> tuple[int, int] | None:
    """A value that changes when `save` replaces the folder; messages and variables share it."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def read_messages(folder: Path, *, whole: bool = False) -> SavedModel:
    """Read the messages of a SavedModel, from saved_model.pb or saved_model.pbtxt.

    Args:
        folder: the SavedModel's folder.
        whole: whether large files are also compared with TensorFlow's fingerprint.

    Raises:
        NotFoundError: the file does not exist.
        DataLossError: the file is damaged.
    """
    path = layout.model_path(folder)
    text = Path(folder, layout.MODEL_TEXT_FILE)
    if not path.exists() and text.exists():
        path, message = text, SavedModel()
        parse_text(text, message, "SavedModel")
    else:
        if not path.exists():
            _refuse_missing(folder)
        with explained("read", path), open_regular(path) as file:
            data = file.read()
        try:
            message = SavedModel.FromString(data)
        except DecodeError as error:
            deep = "MaxDepth" in str(error)
            what = "nested deeper than the format allows" if deep else "not a SavedModel message"
            raise DataLossError(f"{path} is damaged: it is {what}") from error
        check_fingerprint(message, data, folder, whole=whole)
    if not message.meta_graphs:
        raise DataLossError(f"{path} holds no graph: it is empty or cut off")
    return message


def _refuse_address(path: str) -> None:
    scheme, mark, _ = path.partition("://")
    if mark and scheme.isalnum():
        raise MissingFileError(
            f"load: export_dir must be a folder of this machine, got the address {path!r}: nothing "
            "is fetched here\n"
            "  Try: fetch it first (a model of TensorFlow Hub: add ?tf-hub-format=compressed and "
            "unpack the .tar.gz; of a bucket: its own tool, or mount it), then load(folder)"
        )


def _refuse_missing(folder: Path) -> None:
    if not folder.is_dir():
        raise MissingFileError(f"there is no SavedModel at {folder}: it is not a folder")
    versions = sorted(
        (int(one.name) for one in folder.iterdir() if one.name.isascii() and one.name.isdigit()),
    )
    advice = f"\n  Try: {folder / str(versions[-1])}" if versions else ""
    raise MissingFileError(
        f"there is no SavedModel at {folder}: {layout.MODEL_FILE} is missing{advice}"
    )


def choose_graph(message: SavedModel, tags: str | Iterable[str] | None, path: Path) -> MetaGraphDef:
    """The graph with these tags.

    Args:
        message: the file of messages.
        tags: the wanted tags; None takes the only graph, or that for serving.
        path: the file, for errors.

    Raises:
        InvalidArgumentError: no graph has these tags, or several have.
    """
    graphs = list(message.meta_graphs)
    known = "; ".join(", ".join(one.meta_info_def.tags) or "no tags" for one in graphs)
    if tags is None:
        if len(graphs) == 1:
            return graphs[0]
        wanted = {layout.SERVE}
    else:
        wanted = {tags} if isinstance(tags, str) else set(tags)
    found = [one for one in graphs if set(one.meta_info_def.tags) == wanted]
    if len(found) != 1:
        problem = "no graph" if not found else f"{len(found)} graphs"
        raise InvalidArgumentError(
            f"{path} has {problem} with the tags {', '.join(sorted(wanted)) or 'none'}\n"
            f"  it has graphs with: {known}"
        )
    return found[0]
