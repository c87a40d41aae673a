"""The result of a loader: the signatures of a model, and how its file defines them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pinnace.proto.tensor_pb2 import TensorProto
    from pinnace.serving.running.signatures import Runnable


@dataclass(frozen=True, slots=True)
class TensorDefinition:
    """An input or output as a SavedModel has it.

    Attributes:
        dtype: name in `types.proto`, `DT_FLOAT`.
        name: of the tensor in the graph, `x:0`.
        shape: -1 for an unknown size; None for an unknown rank.
    """

    dtype: str
    name: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class SignatureDefinition:
    """A signature as a SavedModel has it.

    Attributes:
        inputs: by name.
        outputs: by name.
        method_name: what kind of answer it gives.
        defaults: values of inputs that may be left out.
    """

    inputs: Mapping[str, TensorDefinition]
    outputs: Mapping[str, TensorDefinition]
    method_name: str = "tensorflow/serving/predict"
    defaults: Mapping[str, TensorProto] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """The result of a loader.

    Attributes:
        signatures: by name.
        definitions: of these and of signatures that cannot be run, as the model's file has them.
            May be empty.
        owner: kept alive as long as the model is: whatever holds its variables.
        platform: what kind of file it is, by the Open Inference Protocol's names.
        missing: why signatures cannot run, by name; those that can are not in it.
        forget: gives the memory of its weights back, when nobody runs it any more; None if they
            go with the model itself.
    """

    signatures: Mapping[str, Runnable]
    definitions: Mapping[str, SignatureDefinition] = field(default_factory=dict)
    owner: object = None
    platform: str = "tensorflow_savedmodel"
    missing: Mapping[str, str] = field(default_factory=dict)
    forget: Callable[[], None] | None = None
