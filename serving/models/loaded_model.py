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
    """An input or output in a SavedModel.

    Attributes:
        dtype: its name in `types.proto`, such as `DT_FLOAT`.
        name: the tensor's name in the graph, such as `x:0`.
        shape: -1 for an unknown size; None for an unknown rank.
    """

    dtype: str
    name: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class SignatureDefinition:
    """A signature in a SavedModel.

    Attributes:
        inputs: by name.
        outputs: by name.
        method_name: the SignatureDef's method_name.
        defaults: default values of optional inputs.
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
        definitions: definitions in the model's file of these signatures, and of those that cannot
            run. May be empty.
        owner: the object that holds the variables, kept alive with the model.
        platform: the kind of file, by the Open Inference Protocol's names.
        missing: the reasons why signatures cannot run, by name; without those that can.
        forget: frees the memory of the weights once no run uses them; None if the model itself
            frees them.
    """

    signatures: Mapping[str, Runnable]
    definitions: Mapping[str, SignatureDefinition] = field(default_factory=dict)
    owner: object = None
    platform: str = "tensorflow_savedmodel"
    missing: Mapping[str, str] = field(default_factory=dict)
    forget: Callable[[], None] | None = None
