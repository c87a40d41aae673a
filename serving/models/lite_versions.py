"""A version's `model.tflite`, served in place of its SavedModel as TensorFlow Serving does."""

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
    """Return the .tflite file to serve for a version; None if another model is served.

    Args:
        path: the version's folder.
        files: the use of such files.

    Raises:
        NotFoundError: the file is required, but missing.
    """
    named = path / FILE
    if files is not LiteFiles.ALONE and is_file(named):
        return named
    is_lite = is_rewritten(path) and kind_of(path) == LITE
    if is_lite and (is_file(path) or files is not LiteFiles.REQUIRED):
        return inside(path, LITE)
    if files is LiteFiles.REQUIRED:
        raise NotFoundError(f"{path}: {FILE} is missing, which --use_tflite_model requires")
    return None


def write_lite(file: Path, folder: Path, files: LiteFiles) -> dict[str, SignatureDefinition]:
    """Write a .tflite file as a SavedModel that takes batches of any size.

    Args:
        file: the .tflite file.
        folder: the SavedModel's folder, which is created.
        files: with `ALONE`, signatures have the file's names, else TensorFlow Serving's.

    Returns:
        The file's signatures, with its tensors' names and its fixed batch sizes.

    Raises:
        OpError: the file is damaged, or has unsupported operators.
    """
    try:
        from pinnace.deploy.lite.reading.saving import write_to_serve
        from pinnace.deploy.lite.reading.signatures import Naming
    except ModuleNotFoundError as error:  # its message says how to install the package
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
