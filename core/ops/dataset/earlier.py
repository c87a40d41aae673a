"""Dataset ops under their older names, some of which TensorFlow still writes."""

from __future__ import annotations

from dataclasses import replace

from pinnace.ops.dataset import (  # noqa: F401 (their ops are there)
    batching,
    counting,
    files,
    grouping,
    handles,
    mapping,
    mixing,
    sources,
)
from pinnace.ops.registry import lookup, register

__all__: list[str] = []

# Attributes that the first version of an op lacks.
_LATER = ("metadata", "cardinality_options", "stop_on_empty_dataset", "use_default_device")


def _older(name: str, *later: str) -> None:
    """Register `name`, an older name of another op."""
    op = lookup(name.removeprefix("Experimental"))
    attrs = {key: one for key, one in op.attrs.items() if key not in {*_LATER, *later}}
    register(replace(op, name=name, attrs=attrs))


for _name in (
    *("ExperimentalDatasetCardinality", "ExperimentalDirectedInterleaveDataset"),
    *("ExperimentalGroupByReducerDataset", "ExperimentalGroupByWindowDataset"),
    *("ExperimentalIgnoreErrorsDataset", "ExperimentalMapAndBatchDataset"),
    *("ExperimentalMapDataset", "ExperimentalMatchingFilesDataset"),
    *("ExperimentalMaxIntraOpParallelismDataset", "ExperimentalNonSerializableDataset"),
    *("ExperimentalParallelInterleaveDataset", "ExperimentalPrivateThreadPoolDataset"),
    *("ExperimentalRandomDataset", "ExperimentalScanDataset", "ExperimentalTakeWhileDataset"),
    *("ExperimentalThreadPoolDataset", "ExperimentalThreadPoolHandle"),
    *("ExperimentalUnbatchDataset", "ExperimentalUniqueDataset"),
):
    _older(_name)
_older("ExperimentalSlidingWindowDataset", "drop_remainder")
