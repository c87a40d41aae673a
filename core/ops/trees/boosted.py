"""Inference of boosted trees: BoostedTreesBucketize, BoostedTreesPredict, the ensemble's handle.

TensorFlow still defines them but no longer runs them; graphs exported by estimators contain them.
Training is not supported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, NOT_DIFFERENTIABLE, InferCall, attr
from pinnace.ops.registry import define, scalar
from pinnace.ops.state.variables import resource_of
from pinnace.ops.trees.ensemble import Ensemble
from pinnace.ops.trees.handles import handle_kernel

if TYPE_CHECKING:
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_FROM_BYTES = "tree_ensemble_handle: resource, stamp_token: int64, tree_ensemble_serialized: string"
_OF_HANDLE = "tree_ensemble_handle: resource"


HANDLE = define(
    name="BoostedTreesEnsembleResourceHandleOp",
    signature="-> resource: resource",
    attrs={"container": attr("string", default=""), "shared_name": attr("string", default="")},
    infer=scalar,
    kernel=handle_kernel("trees", "tree_ensemble", Ensemble),
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _ensemble_of(op: str, handle: Array) -> Ensemble:
    found = resource_of(handle)
    if not isinstance(found, Ensemble):
        raise InvalidArgumentError(
            f"{op}: tree_ensemble_handle must be the handle of an ensemble, got that of {found!r}"
        )
    return found


def _nothing(_: InferCall) -> tuple[Shape, ...]:
    return ()


def _create_kernel(
    tree_ensemble_handle: Array, stamp_token: Array, tree_ensemble_serialized: Array
) -> None:
    """Load the ensemble, unless one is present, for example restored."""
    op = "BoostedTreesCreateEnsemble"
    ensemble = _ensemble_of(op, tree_ensemble_handle)
    if not ensemble.is_initialized:
        ensemble.load(op, int(stamp_token), bytes(tree_ensemble_serialized.item()))


CREATE = define(
    name="BoostedTreesCreateEnsemble",
    signature=f"{_FROM_BYTES} ->",
    infer=_nothing,
    kernel=_create_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _deserialize_kernel(
    tree_ensemble_handle: Array, stamp_token: Array, tree_ensemble_serialized: Array
) -> None:
    op = "BoostedTreesDeserializeEnsemble"
    data = bytes(tree_ensemble_serialized.item())
    _ensemble_of(op, tree_ensemble_handle).load(op, int(stamp_token), data)


DESERIALIZE = define(
    name="BoostedTreesDeserializeEnsemble",
    signature=f"{_FROM_BYTES} ->",
    infer=_nothing,
    kernel=_deserialize_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="write",
)


def _serialize_kernel(tree_ensemble_handle: Array) -> tuple[Array, Array]:
    ensemble = _ensemble_of("BoostedTreesSerializeEnsemble", tree_ensemble_handle)
    _ = ensemble.message  # raises if there is none
    data = np.empty((), object)
    data[()] = ensemble.data
    return np.array(ensemble.stamp, np.int64), data


SERIALIZE = define(
    name="BoostedTreesSerializeEnsemble",
    signature=f"{_OF_HANDLE} -> stamp_token: int64, tree_ensemble_serialized: string",
    infer=lambda _: (Shape(()), Shape(())),
    kernel=_serialize_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _initialized_kernel(tree_ensemble_handle: Array) -> Array:
    op = "IsBoostedTreesEnsembleInitialized"
    return np.array(_ensemble_of(op, tree_ensemble_handle).is_initialized)


IS_INITIALIZED = define(
    name="IsBoostedTreesEnsembleInitialized",
    signature=f"{_OF_HANDLE} -> is_initialized: bool",
    infer=scalar,
    kernel=_initialized_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _states_kernel(tree_ensemble_handle: Array) -> tuple[Array, ...]:
    ensemble = _ensemble_of("BoostedTreesGetEnsembleStates", tree_ensemble_handle)
    message = ensemble.message
    grown = message.growing_metadata
    finished = sum(one.is_finalized for one in message.tree_metadata)
    return (
        np.array(ensemble.stamp, np.int64),
        np.array(len(message.trees), np.int32),
        np.array(finished, np.int32),
        np.array(grown.num_layers_attempted, np.int32),
        np.array([grown.last_layer_node_start, grown.last_layer_node_end], np.int32),
    )


STATES = define(
    name="BoostedTreesGetEnsembleStates",
    signature=(
        f"{_OF_HANDLE} -> stamp_token: int64, num_trees: int32, num_finalized_trees: int32, "
        "num_attempted_layers: int32, last_layer_nodes_range: int32"
    ),
    infer=lambda _: (*(Shape(()),) * 4, Shape([2])),
    kernel=_states_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


# Far more logits than any model has.
_MOST_LOGITS = 2**20


def _predict_kernel(
    tree_ensemble_handle: Array, bucketized_features: tuple[Array, ...], *, logits_dimension: int
) -> Array:
    op = "BoostedTreesPredict"
    batch = len(bucketized_features[0]) if bucketized_features[0].ndim else 0
    if any(one.ndim not in {1, 2} or len(one) != batch for one in bucketized_features):
        shapes = [list(one.shape) for one in bucketized_features]
        raise InvalidArgumentError(
            f"{op}: features must have shape [batch] or [batch, columns], got {shapes}"
        )
    features = [one.reshape(batch, -1) if batch else one for one in bucketized_features]
    logits = np.zeros((batch, logits_dimension), np.float32)
    trees = _ensemble_of(op, tree_ensemble_handle).trees(op, logits_dimension)
    for tree in trees if batch else ():
        if tree.feature.max() >= len(features):
            raise InvalidArgumentError(
                f"{op}: a tree uses feature {int(tree.feature.max())} of {len(features)}"
            )
        logits += np.float32(tree.weight) * tree.values[tree.leaves(op, features)]
    return logits


def _infer_predict(call: InferCall) -> Shape:
    if not 1 <= call.attrs["logits_dimension"] <= _MOST_LOGITS:
        call.fail(f"logits_dimension must be in [1, {_MOST_LOGITS}]")
    batch = Shape([None])
    for spec in call.specs(1):
        if spec.shape.rank not in {None, 1, 2}:
            call.fail("features must have one or two axes")
        if spec.shape.rank is not None:
            if not batch.is_compatible_with(spec.shape[:1]):
                call.fail("features must be of one batch")
            batch = batch.merge_with(spec.shape[:1])
    return batch.concatenate([call.attrs["logits_dimension"]])


PREDICT = define(
    name="BoostedTreesPredict",
    signature=(
        f"{_OF_HANDLE}, bucketized_features: num_bucketized_features*int32 -> logits: float32"
    ),
    attrs={"logits_dimension": attr("int")},
    infer=_infer_predict,
    kernel=_predict_kernel,
    gradient=NO_GRADIENT_DEFINED,
    effect="read",
)


def _bucketize_kernel(
    float_values: tuple[Array, ...], bucket_boundaries: tuple[Array, ...]
) -> tuple[Array, ...]:
    """The index of the first boundary at or above each value; values above all get the last."""
    found = []
    for values, edges in zip(float_values, bucket_boundaries, strict=True):
        if not edges.size:
            raise InvalidArgumentError("BoostedTreesBucketize: bucket_boundaries must not be empty")
        # NaN compares false with everything: it belongs to the first bucket.
        places = np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="left"))
        found.append(np.minimum(places, edges.size - 1).astype(np.int32))
    return tuple(found)


def _infer_bucketize(call: InferCall) -> tuple[Shape, ...]:
    for spec in call.specs(1):
        if spec.shape.rank not in {None, 1}:
            call.fail("bucket_boundaries must be vectors")
    return tuple(spec.shape for spec in call.specs(0))


BUCKETIZE = define(
    name="BoostedTreesBucketize",
    signature=(
        "float_values: num_features*float32, bucket_boundaries: num_features*float32 "
        "-> buckets: num_features*int32"
    ),
    infer=_infer_bucketize,
    kernel=_bucketize_kernel,
    gradient=NOT_DIFFERENTIABLE,
)
