"""The metadata of a model version, for all protocols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinnace.framework.errors import UnimplementedError
from pinnace.serving.models.loaded_model import SignatureDefinition, TensorDefinition
from pinnace.serving.running.signatures import DEFAULT_SIGNATURE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.models.repository import Repository
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.models.tables import Which
    from pinnace.serving.running.signatures import Runnable

_TYPE_NAMES = {"float16": "DT_HALF", "float32": "DT_FLOAT", "float64": "DT_DOUBLE"}


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a model version.

    Attributes:
        name: the model's name.
        version: the version.
        signatures: by name.
    """

    name: str
    version: int
    signatures: Mapping[str, SignatureDefinition]


def read_metadata(repository: Repository, which: Which) -> Metadata:
    """Return the metadata of the version that a request names.

    Raises:
        NotFoundError: the version is not loaded.
    """
    servable = repository.get(which)
    signatures = dict(servable.model.definitions) or {
        name: define_signature(signature) for name, signature in servable.signatures.items()
    }
    return Metadata(servable.name, servable.version, signatures)


def main_signature(servable: Servable) -> tuple[str, Runnable]:
    """Return the signature, with its name, that protocols with one signature per model show.

    Raises:
        UnimplementedError: the model has no signature.
    """
    signatures = servable.signatures
    name = DEFAULT_SIGNATURE if DEFAULT_SIGNATURE in signatures else min(signatures, default="")
    if not name:
        raise UnimplementedError(f"Model '{servable.name}' has no signature")
    return name, signatures[name]


def define_signature(signature: Runnable) -> SignatureDefinition:
    """Define a signature as a SavedModel would, for a model without a file."""
    return SignatureDefinition(
        {name: _define_tensor(name, spec) for name, spec in signature.inputs.items()},
        {name: _define_tensor(name, spec) for name, spec in signature.outputs.items()},
    )


def _define_tensor(name: str, spec: TensorSpec) -> TensorDefinition:
    dims = spec.shape.dims
    return TensorDefinition(
        _TYPE_NAMES.get(spec.dtype.name, f"DT_{spec.dtype.name.upper()}"),
        f"{name}:0",
        None if dims is None else tuple(-1 if n is None else n for n in dims),
    )
