"""A file's signatures: its own, those of SignatureDefs in its metadata, or its tensors' names."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NoReturn

from google.protobuf.message import DecodeError

from pinnace.deploy.lite.files.flexbuffer import flexible
from pinnace.deploy.lite.ir.model import Signature
from pinnace.framework.errors import DataLossError
from pinnace.proto.saved_model_pb2 import SignatureDef
from pinnace.saved_model.constants import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    PREDICT_METHOD_NAME,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.ir.model import Subgraph, Tensor

__all__ = ["METADATA", "Naming", "chosen", "from_messages"]

# The metadata in which TensorFlow's `set_signature_defs` stores a flexbuffer of SignatureDefs.
METADATA = "signature_defs_metadata"


class Naming(Enum):
    """The source of the names of signatures, inputs and outputs.

    Attributes:
        OWN: the file's signatures; else SignatureDefs in its metadata; else `serving_default` with
            the tensors' names without `:0`.
        SERVING: TensorFlow Serving's rule: SignatureDefs in the metadata; else `serving_default`
            with the tensors' names up to the first `:`. Signatures of the file with other names,
            which Serving ignores, are kept.
    """

    OWN = "own"
    SERVING = "serving"


def chosen(
    own: list[Signature], messages: list[Signature], first: Subgraph, naming: Naming
) -> list[Signature]:
    """Choose the signatures of a file.

    Args:
        own: those of its signature table.
        messages: those of its metadata.
        first: its first subgraph, for a file without signatures.
        naming: the rule.
    """
    if naming is Naming.OWN:
        return own or messages or [_by_tensors(first)]
    found = messages or [_as_served(first)]
    taken = {one.key for one in found}
    return found + [one for one in own if one.key not in taken]


def from_messages(data: bytes, subgraph: Subgraph, where: str) -> list[Signature]:
    """Parse the SignatureDefs in a file's metadata.

    They may name a tensor `x:0` that is `x` in the file, since old converters dropped the suffix.

    Args:
        data: the flexbuffer.
        subgraph: the first subgraph, to which they apply.
        where: the file's path, for errors.

    Raises:
        DataLossError: the data is not valid, or names tensors that the subgraph does not have.
    """

    def damaged(what: str) -> NoReturn:
        raise DataLossError(f"{where} is damaged: {what}")

    try:
        found = flexible(data)
    except DataLossError:
        found = None
    if not isinstance(found, dict):
        damaged(f"its metadata {METADATA} must be a map of SignatureDefs")
    signatures = []
    for name, content in found.items():
        key = name.decode("utf-8", "replace")
        try:
            message = SignatureDef.FromString(content if isinstance(content, bytes) else b"\xff")
        except DecodeError:
            damaged(f"signature {key!r:.120} in its metadata must be a SignatureDef")
        sides: list[dict[str, Tensor]] = []
        for side, infos, tensors in (
            ("input", message.inputs, subgraph.inputs),
            ("output", message.outputs, subgraph.outputs),
        ):
            named = {one.name: one for one in tensors}
            sides.append({})
            for alias in sorted(infos):
                told = infos[alias].name
                tensor = named.get(told) or named.get(told.partition(":")[0])
                if tensor is None:
                    damaged(
                        f"signature {key!r:.120} in its metadata has the {side} {alias!r:.120} for "
                        f"tensor {told!r:.120}; there are {sorted(named)!r:.400}"
                    )
                sides[-1][alias] = tensor
        inputs, outputs = sides
        told_inputs = {id(one) for one in inputs.values()}
        if not len(inputs) == len(told_inputs) == len(subgraph.inputs):
            damaged(
                f"signature {key!r:.120} in its metadata names {len(told_inputs)} of "
                f"{len(subgraph.inputs)} inputs, by {len(inputs)} names"
            )
        method = message.method_name or PREDICT_METHOD_NAME
        signatures.append(Signature(key, inputs, outputs, subgraph, method))
    return signatures


def _by_tensors(subgraph: Subgraph) -> Signature:
    """A signature with the names of a subgraph's tensors."""
    return Signature(
        DEFAULT_SERVING_SIGNATURE_DEF_KEY,
        _by_name(subgraph.inputs, "input"),
        _by_name(subgraph.outputs, "output"),
        subgraph,
    )


def _by_name(tensors: Sequence[Tensor], what: str) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for index, tensor in enumerate(tensors):
        name = tensor.name.removesuffix(":0") or f"{what}_{index}"
        while name in found:
            name += f"_{index}"
        found[name] = tensor
    return found


def _as_served(subgraph: Subgraph) -> Signature:
    """A signature with the names that TensorFlow Serving derives from the tensors' names.

    Of `y:0` and `y:1`, Serving uses the second one as `y`; the first keeps its full name here.
    """
    sides = [_by_name(subgraph.inputs, "input"), _by_name(subgraph.outputs, "output")]
    inputs, outputs = map(_without_ends, sides)
    return Signature(DEFAULT_SERVING_SIGNATURE_DEF_KEY, inputs, outputs, subgraph)


def _without_ends(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    last: dict[str, str] = {}
    for name in sorted(tensors, key=lambda one: tensors[one].name):
        last[name.partition(":")[0]] = name
    short = {name: key for key, name in last.items()}
    return {short.get(name, tensors[name].name or name): tensors[name] for name in tensors}
