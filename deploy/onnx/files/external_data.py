"""Checks of an ONNX model's external weights: they must be in the model's folder.

A named file is read with the server's permissions, and results may reveal its content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.framework.extras import install_command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MOST_LEVELS = 64  # nested graphs


def check_external_data(path: Path) -> None:
    """Check that all external weights of an ONNX file are in its folder, with links resolved.

    Args:
        path: the file.

    Raises:
        FailedPreconditionError: onnx is not installed, or weights are outside the folder.
        InvalidArgumentError: the file is not an ONNX file.
    """
    try:
        import onnx  # imported here, as it is an extra
    except ImportError:
        raise FailedPreconditionError(
            f"ONNX models need onnx and ONNX Runtime\n  Try: {install_command('onnx')}"
        ) from None
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # protobuf's, or an OSError
        raise InvalidArgumentError(f"{path} is not an ONNX file: {error}") from None
    root = path.parent.resolve()
    for location in sorted(set(_locations(model))):
        if not (root / location).resolve().is_relative_to(root):
            raise FailedPreconditionError(
                f"{path}: names weights in '{location[:200]}', which lies outside of its folder\n"
                "  Try: put them beside the model"
            )


def _locations(message: Any, level: int = 0) -> Iterator[str]:
    """Yield the files that hold the tensors of a message."""
    if level > _MOST_LEVELS:
        raise InvalidArgumentError(f"the model has more than {_MOST_LEVELS} levels of messages")
    if message.DESCRIPTOR.name == "TensorProto":
        for entry in message.external_data:
            if entry.key == "location":
                yield entry.value
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in value if _is_list(value) else (value,):
                yield from _locations(one, level + 1)


def _is_list(value: Any) -> bool:
    return not hasattr(value, "DESCRIPTOR")
