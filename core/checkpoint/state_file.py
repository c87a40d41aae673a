"""The file `checkpoint` of a folder: the latest checkpoint, and all that are kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf import text_format

from pinnace.framework.errors import DataLossError, NotFoundError
from pinnace.proto.checkpoint_pb2 import CheckpointState
from pinnace.storage.atomic import write_file
from pinnace.storage.bundle import index_path
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "checkpoint"
_LARGEST = 1 << 26


def write_state(
    folder: str | os.PathLike[str],
    latest: str,
    paths: Sequence[str],
    timestamps: Sequence[float] = (),
    last_preserved: float | None = None,
    name: str = NAME,
) -> None:
    """Write the file; paths in its folder are written relative to it.

    Args:
        folder: the folder it is written to.
        latest: the newest checkpoint.
        paths: all that are kept, oldest first.
        timestamps: time of each, in seconds since 1970.
        last_preserved: when one was last set aside for good.
        name: name of the file.
    """
    state = CheckpointState(
        model_checkpoint_path=_relative(latest, folder),
        all_model_checkpoint_paths=[_relative(path, folder) for path in paths],
        all_model_checkpoint_timestamps=timestamps,
        last_preserved_timestamp=last_preserved or 0.0,
    )
    text = text_format.MessageToString(state)
    write_file(Path(folder or ".", name), text.encode())


def read_state(folder: str | os.PathLike[str], name: str | None = None) -> CheckpointState | None:
    """The parsed file, relative paths put after `folder`; None if there is none.

    Raises:
        DataLossError: the file is damaged.
    """
    path = Path(folder or ".", name or NAME)
    if not path.is_file():
        return None
    with explained("read", path), open_regular(path) as file:
        data = file.read(_LARGEST)
    try:
        state = text_format.Parse(data.decode(), CheckpointState())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise DataLossError(f"{path} is damaged: {error}") from error
    if not state.model_checkpoint_path:
        raise DataLossError(f"{path} names no checkpoint")
    state.model_checkpoint_path = _below(state.model_checkpoint_path, folder)
    whole = [_below(one, folder) for one in state.all_model_checkpoint_paths]
    del state.all_model_checkpoint_paths[:]
    state.all_model_checkpoint_paths.extend(whole or [state.model_checkpoint_path])
    return state


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """The content of a folder's file: latest checkpoint, all that are kept, and their times.

    Args:
        checkpoint_dir: the folder.
        latest_filename: name of the file, "checkpoint" if None.

    Returns:
        A message with `model_checkpoint_path`, `all_model_checkpoint_paths` and
        `all_model_checkpoint_timestamps`; None if there is no such file.
    """
    return read_state(checkpoint_dir, latest_filename)


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """The path of the newest checkpoint in a folder; None if there is none.

    Args:
        checkpoint_dir: the folder.
        latest_filename: name of the file that says which it is.
    """
    state = read_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    return state.model_checkpoint_path


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Whether there is a checkpoint with this path."""
    return Path(index_path(checkpoint_prefix)).is_file()


def resolve(path_or_folder: str | os.PathLike[str]) -> str:
    """The path of a checkpoint; of the newest, if a folder is given.

    Raises:
        NotFoundError: there is no checkpoint.
    """
    text = os.fspath(path_or_folder)
    if Path(text).is_dir() and not checkpoint_exists(text):
        found = latest_checkpoint(text)
        if found is None:
            raise NotFoundError(f"there is no checkpoint in {text}")
        return found
    return text


def _relative(path: str, folder: str | os.PathLike[str]) -> str:
    given = Path(path)
    inside = Path(folder or ".").absolute()
    whole = given.absolute()
    return str(whole.relative_to(inside)) if whole.is_relative_to(inside) else path


def _below(path: str, folder: str | os.PathLike[str]) -> str:
    # Joined as strings: pathlib would drop the leading "./" of the folder.
    return os.path.join(folder, path)  # noqa: PTH118
