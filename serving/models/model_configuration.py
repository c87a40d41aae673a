"""A model in Triton's configuration: batches, and inputs and outputs without the batch axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinnace.serving.models.metadata import main_signature
from pinnace.serving.requests.datatypes import datatype
from pinnace.serving.running.batching import has_open_batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.framework.specs import TensorSpec
    from pinnace.serving.models.servable import Servable


@dataclass(frozen=True, slots=True)
class TensorConfiguration:
    """An input or an output.

    Attributes:
        name: the tensor's name.
        data_type: such as `TYPE_FP32`.
        dims: sizes, -1 for unknown ones; without the batch axis if the model has one.
    """

    name: str
    data_type: str
    dims: Sequence[int]


@dataclass(frozen=True, slots=True)
class ModelConfiguration:
    """The configuration of one version of a model.

    Attributes:
        name: the model's name.
        platform: the platform in its metadata.
        max_batch_size: the most rows of joined requests; 0 if its tensors have no batch axis.
        inputs: the inputs of its main signature.
        outputs: the outputs of its main signature.
        sequence_idle_s: seconds after which a sequence is forgotten; 0 without sequences.
    """

    name: str
    platform: str
    max_batch_size: int
    inputs: Sequence[TensorConfiguration]
    outputs: Sequence[TensorConfiguration]
    sequence_idle_s: float = 0.0

    @property
    def sequence_idle_us(self) -> int:
        """The same in microseconds, at least 1 with sequences."""
        return max(round(self.sequence_idle_s * 1e6), 1) if self.sequence_idle_s else 0


def read_configuration(servable: Servable) -> ModelConfiguration:
    """Return the configuration of a version.

    Raises:
        UnimplementedError: the version has no signature.
    """
    name, signature = main_signature(servable)
    has_batch = has_open_batch(signature.inputs) and has_open_batch(signature.outputs)
    return ModelConfiguration(
        servable.name,
        servable.model.platform,
        servable.max_batch_size if has_batch else 0,
        _tensors(signature.inputs, has_batch),
        _tensors(signature.outputs, has_batch),
        servable.sequences.idle_s(name),
    )


def _tensors(specs: Mapping[str, TensorSpec], has_batch: bool) -> list[TensorConfiguration]:
    found = []
    for name, spec in specs.items():
        dims = [-1 if size is None else size for size in spec.shape.dims or ()]
        kind = datatype(spec.dtype).replace("BYTES", "STRING")
        found.append(TensorConfiguration(name, f"TYPE_{kind}", dims[1:] if has_batch else dims))
    return found
