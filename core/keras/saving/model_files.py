"""Files with a whole model: which format a path or its first bytes mean."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from pinnace.keras.saving import hdf5, keras_files, older_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.keras.models.model import Model

_OLDER = (".h5", ".hdf5")


# Further arguments of `Model.save`; `save_format` and `save_traces` are deprecated.
_ARGUMENTS = frozenset(
    ["include_optimizer", "options", "save_format", "save_traces", "signatures"],
)


def check_arguments(path: str, zipped: bool | None, given: Mapping[str, Any]) -> None:
    """Refuse unknown arguments of `Model.save`.

    Raises:
        ValueError: another argument; a name that ends as that of a file, for a folder.
    """
    unknown = sorted(set(given) - _ARGUMENTS)
    if unknown:
        raise ValueError(
            "Model.save: The following argument(s) are not supported: " + ", ".join(unknown)
        )
    if zipped is False and path.endswith((".keras", *_OLDER)):
        raise ValueError(
            "Model.save: the name of a folder, for zipped=False, should not end in .keras or .h5, "
            f"got {path!r}"
        )


def read(path: str, compiles: bool) -> Any:
    """The model of a file."""
    if os.path.isdir(path) or _begins_as_zip(path):  # noqa: PTH112 (a text)
        return keras_files.read(path, compiles)
    return older_files.read(path, compiles)


def _begins_as_zip(path: str) -> bool:
    """Whether it is a .keras file by its first bytes, since file names are arbitrary."""
    with open(path, "rb") as file:  # noqa: PTH123 (a text)
        head = file.read(8)
    if head.startswith(b"\x89HDF"):
        return False
    return head.startswith(b"PK") or not path.endswith(_OLDER)


def write(model: Model, path: str, with_optimizer: bool, *, zipped: bool = True) -> None:
    """Write a model as the file that the ending of its path says.

    Args:
        model: the model.
        path: of the file; of a folder if it is not zipped.
        with_optimizer: whether it is compiled again when it is read.
        zipped: whether a .keras file is one archive.
    """
    older = path.endswith(_OLDER)
    if not model.built:
        if older:
            raise ValueError(
                f"Model.save: {model.name!r} has no weights before it is built\n"
                "  Try: call it on data, fit it, or build(shape)"
            )
        if not hdf5.has_weights(model):
            warnings.warn(
                "Model.save: You are saving a model that has not yet been built: the file has the "
                f"configuration of {model.name!r} and no weights\n"
                "  Try: call it on data, fit it, or build(shape)",
                stacklevel=3,
            )
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)  # noqa: PTH100, PTH103, PTH120 (a text)
    if older:
        older_files.write(model, path, with_optimizer)
    else:
        keras_files.write(model, path, with_optimizer, zipped=zipped)
