"""SequenceExample messages as tensors: ParseSequenceExample, V2, ParseSingleSequenceExample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.io import examples
from pinnace.ops.opdef import NO_GRADIENT_DEFINED, AttrDef, InferCall, attr
from pinnace.ops.registry import define

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_WHO = "parse_sequence_example"

_LISTS = (
    "Tcontext_dense",
    "context_sparse_types",
    "context_ragged_value_types",
    "context_ragged_split_types",
    "feature_list_dense_types",
    "feature_list_sparse_types",
    "feature_list_ragged_value_types",
    "feature_list_ragged_split_types",
)

_V1_TYPES = tuple(name for name in _LISTS if "ragged" not in name)
_CONTEXT_OUTPUTS = (
    "context_sparse_indices: Ncontext_sparse*int64, "
    "context_sparse_values: (context_sparse_types), "
    "context_sparse_shapes: Ncontext_sparse*int64, "
    "context_dense_values: (Tcontext_dense)"
)
_LIST_OUTPUTS = (
    "feature_list_sparse_indices: Nfeature_list_sparse*int64, "
    "feature_list_sparse_values: (feature_list_sparse_types), "
    "feature_list_sparse_shapes: Nfeature_list_sparse*int64, "
    "feature_list_dense_values: (feature_list_dense_types)"
)


def _attrs(types: Sequence[str], *counts: str) -> dict[str, AttrDef]:
    """The attributes of an op with these lists of types and numbers of tensors."""
    return {
        **{name: attr("int", default=0) for name in counts},
        **{name: attr("list(type)", default=()) for name in types},
        "context_dense_shapes": attr("list(shape)", default=()),
        "feature_list_dense_shapes": attr("list(shape)", default=()),
    }


class _Steps(NamedTuple):
    """The values of a feature list in every record: all values, counts per step and per record."""

    values: Array
    step_lengths: Array
    steps: Array
    missing: Array


def _steps_of(lists: Sequence[Any], key: bytes, dtype: DType) -> _Steps:
    kind, field, word = examples._KINDS[dtype]
    del kind
    name = key.decode("utf-8", "replace")
    values: list[Any] = []
    lengths: list[int] = []
    steps, missing = [], []
    for record, found in enumerate(lists):
        here = found.get(name)
        missing.append(here is None)
        features = () if here is None else here.feature
        steps.append(len(features))
        for step, feature in enumerate(features):
            which = feature.WhichOneof("kind")
            if which not in {None, field}:
                raise InvalidArgumentError(
                    f"{_WHO}: feature list {name!r} must hold {word}, step {step} of record "
                    f"{record} holds {which.removesuffix('_list')}"
                )
            some = () if which is None else getattr(feature, field).value
            values.extend(some)
            lengths.append(len(some))
    return _Steps(
        examples._array(values, dtype),
        np.array(lengths, np.int64),
        np.array(steps, np.int64),
        np.array(missing, bool),
    )


def _dense_steps(
    found: _Steps, key: bytes, dtype: DType, shape: Shape, may_miss: bool, single: bool
) -> tuple[Array, Array]:
    """[records, longest, *shape] padded with zeros, and the number of steps of each record."""
    name = key.decode("utf-8", "replace")
    if found.missing.any() and not may_miss:
        raise InvalidArgumentError(
            f"{_WHO}: feature list {name!r} is not in record {int(found.missing.argmax())}\n"
            "  Try: allow_missing=True"
        )
    sizes = [n for n in shape.as_list() if n is not None]
    width = int(np.prod(sizes, dtype=np.int64))
    wrong = np.flatnonzero(found.step_lengths != width)
    if len(wrong):
        raise InvalidArgumentError(
            f"{_WHO}: every step of feature list {name!r} must have {width} values (shape {sizes})"
            f", one has {int(found.step_lengths[wrong[0]])}"
        )
    records, longest = len(found.steps), int(found.steps.max(initial=0))
    out = np.full((records, longest, width), examples._ZERO[dtype], dtype.numpy)
    rows = np.repeat(np.arange(records), found.steps)
    out[rows, examples._within(found.steps)] = found.values.reshape(-1, width)
    shaped = out.reshape(records, longest, *sizes)
    return (shaped[0], found.steps[0]) if single else (shaped, found.steps)


def _sparse_steps(found: _Steps, single: bool) -> tuple[Array, Array, Array]:
    """Indices by record, step and position; values; the dense shape."""
    records = np.repeat(np.arange(len(found.steps)), found.steps)
    columns = [
        np.repeat(records, found.step_lengths),
        np.repeat(examples._within(found.steps), found.step_lengths),
        examples._within(found.step_lengths),
    ]
    shape = [len(found.steps), found.steps.max(initial=0), found.step_lengths.max(initial=0)]
    if single:
        columns, shape = columns[1:], shape[1:]
    return np.stack(columns, 1).astype(np.int64), found.values, np.array(shape, np.int64)


def _splits(lengths: Array, kind: DType) -> Array:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(kind.numpy)


class _Wanted(NamedTuple):
    """Keys, dtypes and shapes of the parsed features in contexts and feature lists."""

    context_dense: Sequence[examples._Dense]
    context_sparse: Sequence[tuple[Any, DType]]
    context_ragged: Sequence[tuple[Any, DType, DType]]
    sparse: Sequence[tuple[bytes, DType]]
    dense: Sequence[tuple[bytes, DType, Shape, bool]]
    ragged: Sequence[tuple[bytes, DType, DType]]


def _parsed(serialized: Array, wanted: _Wanted) -> tuple[Array, ...]:
    """The flat outputs of ParseSequenceExampleV2."""
    # `import pinnace` does without protobuf.
    from google.protobuf.message import DecodeError

    from pinnace.proto.example_pb2 import Example, SequenceExample

    single = serialized.ndim == 0
    contexts, lists = [], []
    for record, text in enumerate(examples._strings(serialized)):
        try:
            message = SequenceExample.FromString(text)
        except DecodeError:
            raise InvalidArgumentError(f"{_WHO}: record {record} is no SequenceExample") from None
        contexts.append(Example(features=message.context).SerializeToString())
        lists.append(message.feature_lists.feature_list)
    of_context = examples._outputs(
        contexts, single, wanted.context_dense, wanted.context_sparse, wanted.context_ragged
    )
    sparse = [_sparse_steps(_steps_of(lists, key, kind), single) for key, kind in wanted.sparse]
    dense = [
        _dense_steps(_steps_of(lists, key, kind), key, kind, shape, may_miss, single)
        for key, kind, shape, may_miss in wanted.dense
    ]
    ragged = []
    for key, kind, split in wanted.ragged:
        found = _steps_of(lists, key, kind)
        outer = np.zeros(0, split.numpy) if single else _splits(found.steps, split)
        ragged.append((found.values, outer, _splits(found.step_lengths, split)))
    return (
        *of_context,
        *[part for position in range(3) for part in [one[position] for one in sparse]],
        *[one[0] for one in dense],
        *[np.asarray(one[1], np.int64) for one in dense],
        *[part for position in range(3) for part in [one[position] for one in ragged]],
    )


def _rows(*columns: Sequence[Any]) -> list[Any]:
    return list(zip(*columns, strict=True))


def _shapes(call: InferCall, front: Shape) -> tuple[Shape, ...]:
    attrs = call.attrs
    rank = front.rank
    unknown = rank is None
    width = None if unknown else rank + 1  # type: ignore[operator]
    deep = None if unknown else rank + 2  # type: ignore[operator]

    def sparse(count: int, columns: int | None) -> list[Shape]:
        return [
            *[Shape((None, columns))] * count,
            *[Shape((None,))] * count,
            *[Shape((columns,))] * count,
        ]

    splits = Shape((None,))
    if rank == 1 and front[0] is not None:
        splits = Shape((front[0] + 1,))
    ragged, lists = len(attrs.get("context_ragged_value_types", ())), "feature_list_"
    deep_ragged = len(attrs.get(f"{lists}ragged_value_types", ()))
    return (
        *sparse(len(attrs["context_sparse_types"]), width),
        *[Shape(None) if unknown else front + s for s in attrs["context_dense_shapes"]],
        *[Shape((None,))] * ragged,
        *[splits] * ragged,
        *sparse(len(attrs[f"{lists}sparse_types"]), deep),
        *[
            Shape(None) if unknown else front + Shape((None,)) + s
            for s in attrs[f"{lists}dense_shapes"]
        ],
        *[front] * len(attrs[f"{lists}dense_types"]),
        *[Shape((None,))] * deep_ragged,
        *[splits] * deep_ragged,
        *[Shape((None,))] * deep_ragged,
    )


def _kernel(
    serialized: Array,
    debug_name: Array,
    context_sparse_keys: Array,
    context_dense_keys: Array,
    context_ragged_keys: Array,
    feature_list_sparse_keys: Array,
    feature_list_dense_keys: Array,
    feature_list_ragged_keys: Array,
    feature_list_dense_missing_assumed_empty: Array,
    context_dense_defaults: tuple[Array, ...],
    *,
    Tcontext_dense: tuple[DType, ...],  # noqa: N803 (the attribute's name)
    context_sparse_types: tuple[DType, ...],
    context_ragged_value_types: tuple[DType, ...],
    context_ragged_split_types: tuple[DType, ...],
    context_dense_shapes: tuple[Shape, ...],
    feature_list_dense_types: tuple[DType, ...],
    feature_list_sparse_types: tuple[DType, ...],
    feature_list_ragged_value_types: tuple[DType, ...],
    feature_list_ragged_split_types: tuple[DType, ...],
    feature_list_dense_shapes: tuple[Shape, ...],
) -> tuple[Array, ...]:
    del debug_name
    strings = examples._strings
    allowed = feature_list_dense_missing_assumed_empty.reshape(-1).tolist()
    return _parsed(
        serialized,
        _Wanted(
            examples._dense_of(
                strings(context_dense_keys),
                Tcontext_dense,
                context_dense_shapes,
                context_dense_defaults,
            ),
            _rows(strings(context_sparse_keys), context_sparse_types),
            _rows(
                strings(context_ragged_keys), context_ragged_value_types, context_ragged_split_types
            ),
            _rows(strings(feature_list_sparse_keys), feature_list_sparse_types),
            _rows(
                strings(feature_list_dense_keys),
                feature_list_dense_types,
                feature_list_dense_shapes,
                allowed,
            ),
            _rows(
                strings(feature_list_ragged_keys),
                feature_list_ragged_value_types,
                feature_list_ragged_split_types,
            ),
        ),
    )


def _infer(call: InferCall) -> tuple[Shape, ...]:
    if (call.spec(0).shape.rank or 0) > 1:
        call.fail("serialized must be a scalar or a vector")
    return _shapes(call, call.spec(0).shape)


PARSE_SEQUENCE_EXAMPLE_V2 = define(
    name="ParseSequenceExampleV2",
    signature=(
        "serialized: string, debug_name: string, context_sparse_keys: string, "
        "context_dense_keys: string, context_ragged_keys: string, "
        "feature_list_sparse_keys: string, feature_list_dense_keys: string, "
        "feature_list_ragged_keys: string, feature_list_dense_missing_assumed_empty: bool, "
        f"context_dense_defaults: (Tcontext_dense) -> {_CONTEXT_OUTPUTS}, "
        "context_ragged_values: (context_ragged_value_types), "
        "context_ragged_row_splits: (context_ragged_split_types), "
        f"{_LIST_OUTPUTS}, feature_list_dense_lengths: Nfeature_list_dense*int64, "
        "feature_list_ragged_values: (feature_list_ragged_value_types), "
        "feature_list_ragged_outer_splits: (feature_list_ragged_split_types), "
        "feature_list_ragged_inner_splits: (feature_list_ragged_split_types)"
    ),
    attrs=_attrs(_LISTS, "Ncontext_sparse", "Nfeature_list_sparse", "Nfeature_list_dense"),
    infer=_infer,
    kernel=_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _without_ragged(
    serialized: Array,
    may_miss: Sequence[bytes],
    context_sparse: Sequence[tuple[bytes, DType]],
    context_dense: Sequence[examples._Dense],
    sparse: Sequence[tuple[bytes, DType]],
    keys: Sequence[bytes],
    kinds: Sequence[DType],
    shapes: Sequence[Shape],
) -> tuple[Array, ...]:
    """The outputs of the op's first version, with names of feature lists that may be missing."""
    dense = [
        (key, kind, shape, key in may_miss)
        for key, kind, shape in zip(keys, kinds, shapes, strict=True)
    ]
    return _parsed(serialized, _Wanted(context_dense, context_sparse, (), sparse, dense, ()))


def _v1_kernel(
    serialized: Array,
    debug_name: Array,
    context_dense_defaults: tuple[Array, ...],
    *,
    feature_list_dense_missing_assumed_empty: tuple[Any, ...],
    context_sparse_keys: tuple[Any, ...],
    context_dense_keys: tuple[Any, ...],
    feature_list_sparse_keys: tuple[Any, ...],
    feature_list_dense_keys: tuple[Any, ...],
    Tcontext_dense: tuple[DType, ...],  # noqa: N803 (the attribute's name)
    context_sparse_types: tuple[DType, ...],
    context_dense_shapes: tuple[Shape, ...],
    feature_list_dense_types: tuple[DType, ...],
    feature_list_sparse_types: tuple[DType, ...],
    feature_list_dense_shapes: tuple[Shape, ...],
) -> tuple[Array, ...]:
    del debug_name
    return _without_ragged(
        serialized,
        _bytes(feature_list_dense_missing_assumed_empty),
        _rows(_bytes(context_sparse_keys), context_sparse_types),
        examples._dense_of(
            context_dense_keys, Tcontext_dense, context_dense_shapes, context_dense_defaults
        ),
        _rows(_bytes(feature_list_sparse_keys), feature_list_sparse_types),
        _bytes(feature_list_dense_keys),
        feature_list_dense_types,
        feature_list_dense_shapes,
    )


def _bytes(keys: Sequence[Any]) -> list[bytes]:
    return [examples._key(key) for key in keys]


def _infer_v1(call: InferCall) -> tuple[Shape, ...]:
    if call.spec(0).shape.rank not in {1, None}:
        call.fail("serialized must be a vector")
    front = call.spec(0).shape
    return _shapes(call, Shape((None,)) if front.rank is None else front)


PARSE_SEQUENCE_EXAMPLE = define(
    name="ParseSequenceExample",
    signature=(
        "serialized: string, debug_name: string, context_dense_defaults: (Tcontext_dense) -> "
        f"{_CONTEXT_OUTPUTS}, {_LIST_OUTPUTS}, "
        "feature_list_dense_lengths: Nfeature_list_dense*int64"
    ),
    attrs={
        **{
            name: attr("list(string)")
            for name in (
                "feature_list_dense_missing_assumed_empty",
                "context_sparse_keys",
                "context_dense_keys",
                "feature_list_sparse_keys",
                "feature_list_dense_keys",
            )
        },
        **_attrs(
            _V1_TYPES,
            "Ncontext_sparse",
            "Ncontext_dense",
            "Nfeature_list_sparse",
            "Nfeature_list_dense",
        ),
    },
    infer=_infer_v1,
    kernel=_v1_kernel,
    gradient=NO_GRADIENT_DEFINED,
)


def _single_kernel(
    serialized: Array,
    feature_list_dense_missing_assumed_empty: Array,
    context_sparse_keys: tuple[Array, ...],
    context_dense_keys: tuple[Array, ...],
    feature_list_sparse_keys: tuple[Array, ...],
    feature_list_dense_keys: tuple[Array, ...],
    context_dense_defaults: tuple[Array, ...],
    debug_name: Array,
    *,
    Tcontext_dense: tuple[DType, ...],  # noqa: N803 (the attribute's name)
    context_sparse_types: tuple[DType, ...],
    context_dense_shapes: tuple[Shape, ...],
    feature_list_dense_types: tuple[DType, ...],
    feature_list_sparse_types: tuple[DType, ...],
    feature_list_dense_shapes: tuple[Shape, ...],
) -> tuple[Array, ...]:
    if debug_name.ndim:
        raise InvalidArgumentError(
            "ParseSingleSequenceExample: debug_name must be a scalar, got shape "
            f"{list(debug_name.shape)}"
        )
    if feature_list_dense_missing_assumed_empty.ndim != 1:
        raise InvalidArgumentError(
            "ParseSingleSequenceExample: feature_list_dense_missing_assumed_empty must be a "
            f"vector, got shape {list(feature_list_dense_missing_assumed_empty.shape)}"
        )
    for name, keys in (
        ("context_sparse_keys", context_sparse_keys),
        ("context_dense_keys", context_dense_keys),
        ("feature_list_sparse_keys", feature_list_sparse_keys),
        ("feature_list_dense_keys", feature_list_dense_keys),
    ):
        for place, key in enumerate(keys):
            if key.ndim:
                raise InvalidArgumentError(
                    f"ParseSingleSequenceExample: {name}[{place}] must be a scalar, got shape "
                    f"{list(key.shape)}"
                )
    found = _without_ragged(
        serialized,
        examples._strings(feature_list_dense_missing_assumed_empty),
        _rows(examples._keys(context_sparse_keys), context_sparse_types),
        examples._dense_of(
            examples._keys(context_dense_keys),
            Tcontext_dense,
            context_dense_shapes,
            context_dense_defaults,
        ),
        _rows(examples._keys(feature_list_sparse_keys), feature_list_sparse_types),
        examples._keys(feature_list_dense_keys),
        feature_list_dense_types,
        feature_list_dense_shapes,
    )
    # Unlike the other ops, this one has no outputs for the lengths of the lists.
    return found[: len(found) - len(feature_list_dense_types)]


def _infer_single(call: InferCall) -> tuple[Shape, ...]:
    if call.spec(0).shape.rank not in {0, None}:
        call.fail("serialized must be a scalar")
    found = _shapes(call, Shape(()))
    return found[: len(found) - len(call.attrs["feature_list_dense_types"])]


PARSE_SINGLE_SEQUENCE_EXAMPLE = define(
    name="ParseSingleSequenceExample",
    signature=(
        "serialized: string, feature_list_dense_missing_assumed_empty: string, "
        "context_sparse_keys: Ncontext_sparse*string, "
        "context_dense_keys: Ncontext_dense*string, "
        "feature_list_sparse_keys: Nfeature_list_sparse*string, "
        "feature_list_dense_keys: Nfeature_list_dense*string, "
        "context_dense_defaults: (Tcontext_dense), debug_name: string -> "
        f"{_CONTEXT_OUTPUTS}, {_LIST_OUTPUTS}"
    ),
    attrs=_attrs(_V1_TYPES),
    infer=_infer_single,
    kernel=_single_kernel,
    gradient=NO_GRADIENT_DEFINED,
)
