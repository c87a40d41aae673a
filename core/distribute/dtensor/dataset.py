"""DTensorDataset: a dataset whose elements are batches with layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.data.dataset import Dataset
from pinnace.distribute.dtensor.api import copy_to_mesh
from pinnace.framework import structure
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pinnace.distribute.dtensor.layout import Layout
    from pinnace.distribute.dtensor.mesh import Mesh


class DTensorDataset(Dataset):
    """A dataset whose elements are batches, divided over a mesh.

    Args:
        dataset: gives examples, or batches of one part's size.
        mesh: the mesh.
        layouts: for each component of the elements its layout as a batch; the first axis is the
            batch's.
        global_batch_size: how many examples a batch has over all devices.
        dataset_already_batched: whether `dataset` gives batches: of `global_batch_size`, divided by
            the size of `batch_dim`.
        batch_dim: the dimension of the mesh that batches are divided along; None for none.
        prefetch: how many batches are made ahead; None for none.
        tf_data_service_config: must be None: there is no tf.data service.

    Raises:
        ValueError: layouts whose structure or number of axes is not the elements', that do not
            begin with `batch_dim`, or batches of another size.
        NotImplementedError: `tf_data_service_config` is given, as in TensorFlow.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        mesh: Mesh,
        layouts: Any,
        global_batch_size: int,
        dataset_already_batched: bool = False,
        batch_dim: str | None = None,
        prefetch: int | None = None,
        tf_data_service_config: object = None,
    ) -> None:
        if tf_data_service_config is not None:
            raise NotImplementedError(
                "Multi-client DTensorDataset is currently not supported: there is no tf.data "
                "service"
            )
        structure.assert_same_structure(dataset.element_spec, layouts)
        flat: list[Layout] = structure.flatten(layouts)
        specs: list[Any] = structure.flatten(dataset.element_spec)
        parts = _parts(mesh, flat, batch_dim)
        self.num_global_replicas = parts
        _check(flat, specs, dataset_already_batched)
        size = global_batch_size // parts
        if not dataset_already_batched:
            whole = dataset.batch(size * parts, drop_remainder=True)
        else:
            given = specs[0].shape[0]
            if given != size:
                raise ValueError(
                    "per_replica_batch_size does not matched expected size based on the mesh, got "
                    f"{given} but expected {size}."
                )
            whole = dataset
            if parts > 1:
                whole = dataset.unbatch().batch(size * parts, drop_remainder=True)
        if prefetch is not None:
            whole = whole.prefetch(prefetch)
        super().__init__(whole._stage, whole._options)
        self._layouts = layouts
        self._whole = whole
        self._mesh = mesh
        self._global_spec = structure.map_structure(
            lambda spec: TensorSpec([global_batch_size, *spec.shape[1:]], spec.dtype, spec.name),
            whole.element_spec,
        )

    @property
    def element_spec(self) -> Any:
        """The specs of the batches, over all devices."""
        return self._global_spec

    def __iter__(self) -> Iterator[Any]:
        for element in self._whole:
            yield structure.map_structure(copy_to_mesh, element, self._layouts)


def _parts(mesh: Mesh, layouts: Sequence[Layout], batch_dim: str | None) -> int:
    """Into how many parts a batch is divided."""
    if not batch_dim:
        return 1
    count = mesh.dim_size(batch_dim)
    for layout in layouts:
        if not layout.specs or layout.specs[0] != batch_dim:
            raise ValueError(
                f"batch_dim {batch_dim} was specified but at least one layout did not contain it: "
                f"{layout}"
            )
    return count


def _check(layouts: Sequence[Layout], specs: Sequence[Any], batched: bool) -> None:
    if not specs:
        raise ValueError("Expected input element spec of at least one element, was empty.")
    for layout, spec in zip(layouts, specs, strict=True):
        if spec.shape.rank is None:
            raise ValueError(f"Dataset element shape must have a valid rank, got spec {spec}.")
        rank = spec.shape.rank + (not batched)
        if layout.rank != rank:
            raise ValueError(
                f"Expected layout with rank {rank} for element spec {spec}, got layout "
                f"{layout.sharding_specs}. Check that the dataset is not batched before passing to "
                "DTensorDataset."
            )
        if batched and spec.shape[0] is None:
            raise ValueError(
                f"Size of batch dimension of element spec {spec} is None. Ensure "
                "drop_remainder=True when batching the dataset."
            )
        if batched and spec.shape[0] != specs[0].shape[0]:
            raise ValueError(
                f"Size of batch dimension of element spec {spec} does not match expected size "
                f"{specs[0].shape[0]}."
            )
