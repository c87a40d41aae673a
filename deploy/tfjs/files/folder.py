"""The model's folder: written beside its target, then moved into place."""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.storage.atomic import StrPath, replace_folder

MODEL_FILE = "model.json"
# The files that exports write; a folder with other files is not overwritten.
_OURS = re.compile(
    r"model\.json|group\d+-shard\d+of\d+(\.bin)?|assets\.zip|"
    r"(index\.html|page\.(js|css|json)|(runtime|tensors|pictures)\.js|case\.json|tfjs|labels\.txt|"
    r"LICENSE)\Z"
)


@contextlib.contextmanager
def staged_folder(target: StrPath) -> Iterator[Path]:
    """Yield a folder to fill, which replaces `target` at the end.

    Raises:
        InvalidArgumentError: `target` is a file.
        FailedPreconditionError: `target` contains files that are not part of a TensorFlow.js model.
    """
    check_target(target)
    with replace_folder(target) as stage:
        yield stage


def check_target(target: StrPath) -> None:
    """Refuse a target whose replacement would lose other files; see `staged_folder`."""
    place = Path(os.path.realpath(target))
    if place.is_dir():
        others = sorted(one.name for one in place.iterdir() if not _OURS.match(one.name))
        if others:
            shown = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
            raise FailedPreconditionError(
                f"export: the folder {os.fspath(target)!r} holds {shown}, which an export would "
                "remove\n  Try: a folder of its own for the model"
            )
    elif place.exists():
        raise InvalidArgumentError(
            f"export: the model must be a folder, {os.fspath(target)!r} is a file"
        )


def write_model(folder: Path, content: dict[str, Any]) -> None:
    """Write `model.json`."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    (folder / MODEL_FILE).write_text(text, encoding="utf-8")
