"""A version's `model.tflite`, served in the place of its SavedModel as TensorFlow Serving does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.deploy.models.kinds import LITE, inside, is_rewritten, kind_of
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.serving.config.lite_files import LiteFiles
from pinnace.serving.models.loaded_model import SignatureDefinition, TensorDefinition
from pinnace.serving.models.versions import is_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pinnace.deploy.lite.ir.model import Tensor

FILE = "model.tflite"


def lite_file_of(path: Path, files: LiteFiles) -> Path | None:
    """The .tflite file that is served of a version, None if another model is.

    Args:
        path: of the version.
        files: what such files are for.

    Raises:
        NotFoundError: there has to be one.
    """
    named = path / FILE
    if files is not LiteFiles.ALONE and is_file(named):
        return named
    is_lite = is_rewritten(path) and kind_of(path) == LITE
    if is_lite and (is_file(path) or files is not LiteFiles.REQUIRED):
        return inside(path, LITE)
    if files is LiteFiles.REQUIRED:
        raise NotFoundError(f"{path}: {FILE} is missing, and --use_tflite_model serves no other")
    return None


def write_lite(file: Path, folder: Path, files: LiteFiles) -> dict[str, SignatureDefinition]:
    """Write a .tflite file as a SavedModel that takes batches of any size.

    Args:
        file: the .tflite file.
        folder: of the SavedModel; it is made.
        files: with `ALONE`, signatures have the file's names, else TensorFlow Serving's.

    Returns:
        Its signatures as the file has them: with its tensors' names, and the batch that it fixes.

    Raises:
        OpError: it is damaged, or has operators that are not read.
    """
    try:
        from pinnace.deploy.lite.reading.saving import write_to_serve
        from pinnace.deploy.lite.reading.signatures import Naming
    except ModuleNotFoundError as error:  # which package it is, and how it is installed
        raise InvalidArgumentError(f"{file}: {error}") from error
    naming = Naming.OWN if files is LiteFiles.ALONE else Naming.SERVING
    return {
        one.key: SignatureDefinition(
            _definitions(one.inputs), _definitions(one.outputs), one.method
        )
        for one in write_to_serve(file, folder, naming)
    }


def _definitions(tensors: Mapping[str, Tensor]) -> dict[str, TensorDefinition]:
    from pinnace.proto.types_pb2 import DataType

    return {
        name: TensorDefinition(
            DataType.Name(one.dtype.enum),
            one.name,
            None if one.shape.dims is None else tuple(-1 if n is None else n for n in one.shape),
        )
        for name, one in tensors.items()
    }
