"""What the server does, in arrays and names: every protocol calls these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinnace.framework.dtypes import as_dtype, string
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.serving.loading import define_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.repository import Repository, Which
    from pinnace.serving.servable import (
        Array,
        Arrays,
        Runnable,
        Servable,
        SignatureDefinition,
    )

DEFAULT_SIGNATURE = "serving_default"


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a version of a model is.

    Attributes:
        name: of the model.
        version: that was asked.
        signatures: by name.
    """

    name: str
    version: int
    signatures: Mapping[str, SignatureDefinition]


def metadata(repository: Repository, which: Which) -> Metadata:
    """What the version is that a request asks for.

    Raises:
        NotFoundError: it is not loaded.
    """
    servable = repository.get(which)
    signatures = dict(servable.model.definitions) or {
        name: define_signature(signature) for name, signature in servable.signatures.items()
    }
    return Metadata(servable.name, servable.version, signatures)


def main_signature(servable: Servable) -> tuple[str, Runnable]:
    """The signature that protocols show that have one for each model, and its name.

    Raises:
        UnimplementedError: the model has none.
    """
    signatures = servable.signatures
    name = DEFAULT_SIGNATURE if DEFAULT_SIGNATURE in signatures else min(signatures, default="")
    if not name:
        raise UnimplementedError(f"Model '{servable.name}' has no signature")
    return name, signatures[name]


def check_feeds(signature: Runnable, feeds: Arrays) -> None:
    """Nothing, if the arrays fit the signature.

    Raises:
        InvalidArgumentError: a name, dtype or shape does not; the message has what was expected and
            what was given.
    """
    inputs = signature.inputs
    if feeds.keys() != inputs.keys():
        raise InvalidArgumentError(
            f"Inputs must be {_names(inputs)} as the signature says, got {_names(feeds)}"
        )
    for name, spec in inputs.items():
        array = feeds[name]
        if array.dtype != spec.dtype.numpy or not fits_shape(array.shape, spec):
            raise InvalidArgumentError(
                f"Input '{name}' must be {spec.dtype.name}{spec.shape.text}, "
                f"got {describe_array(array)}{_remedy(array, spec)}"
            )


def fits_shape(shape: tuple[int, ...], spec: TensorSpec) -> bool:
    """Whether a shape is one that the spec allows."""
    dims = spec.shape.dims
    if dims is None:
        return True
    return len(shape) == len(dims) and all(
        want is None or size == want for size, want in zip(shape, dims, strict=True)
    )


def describe_array(array: Array) -> str:
    """Dtype and shape of an array, as messages have them: `float32[1, 8]`."""
    dtype = string if array.dtype == object else as_dtype(array.dtype)
    return f"{dtype.name}[{', '.join(map(str, array.shape))}]"


def _remedy(array: Array, spec: TensorSpec) -> str:
    if spec.shape.rank == array.ndim + 1 and fits_shape((1, *array.shape), spec):
        return "\n  Try: one list more around it, the batch axis"
    if spec.shape.rank == array.ndim - 1 and fits_shape(array.shape[1:], spec):
        return "\n  Try: one list less; each of 'instances' is one example, without batch axis"
    return ""


def _names(mapping: Mapping[str, object]) -> str:
    return "{" + ", ".join(sorted(mapping)) + "}"
