"""Texts split by SentencePiece models, and joined again: Sentencepiece…Op."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.dtypes import INDEX, int32, int64
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.shapes import Shape
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, InferCall, attr, typed
from pinnace.ops.registry import define, scalar
from pinnace.ops.state.variables import resource_of
from pinnace.ops.strings.elements import map_numbers, strings_of
from pinnace.ops.text.piece_model import Ends, Piece, TextPieces

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array

__all__: list[str] = []

_MODELS = 8  # models kept without any reference to them
_OPTIONS = "nbest_size: int32, alpha: float32, add_bos: bool, add_eos: bool, reverse: bool"
_ENDS = "add_bos: bool, add_eos: bool, reverse: bool"
_TYPES = {
    "out_type": typed({int32, dtypes.string}, default=int32),
    "Tsplits": typed(INDEX, default=int64),
}


@lru_cache(_MODELS)
def _read(content: bytes) -> TextPieces:
    """A model, immutable after reading and shared by nodes with the same bytes."""
    return TextPieces(content)


def _handle_kernel(
    *, model: str | bytes, container: str, shared_name: str, use_node_name_sharing: bool
) -> Array:
    """A handle; whether nodes share a model has no visible effect."""
    del container, shared_name, use_node_name_sharing
    handle = np.empty((), object)
    handle[()] = _read(model.encode() if isinstance(model, str) else model)
    return handle


HANDLE = define(
    name="SentencepieceOp",
    signature="-> handle: resource",
    attrs={
        "model": attr("string", default=""),
        "container": attr("string", default=""),
        "shared_name": attr("string", default=""),
        "use_node_name_sharing": attr("bool", default=False),
    },
    infer=scalar,
    kernel=_handle_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _of(handle: Array) -> TextPieces:
    found = resource_of(handle)
    if not isinstance(found, TextPieces):
        raise InvalidArgumentError(
            f"SentencePiece: sp_handle must be the handle of a model, got that of {found!r}"
        )
    return found


def _ends(add_bos: Array, add_eos: Array, reverse: Array) -> Ends:
    return Ends(*(bool(one.reshape(-1)[0]) for one in (add_bos, add_eos, reverse)))


def _rows(
    op: str,
    handle: Array,
    texts: Array,
    nbest_size: Array,
    alpha: Array,
    ends: Ends,
    *,
    return_nbest: bool,
) -> list[list[Piece]]:
    """The pieces of each text, or of its best splits with `return_nbest`."""
    model, given = _of(handle), texts.reshape(-1).tolist()
    if return_nbest:
        if nbest_size.ndim or nbest_size < 1:
            raise InvalidArgumentError(
                f"{op}: with return_nbest, nbest_size must be one number, at least 1; got "
                f"{nbest_size.tolist()}"
            )
        return [cut for text in given for cut in model.best(text, ends, int(nbest_size))]
    for name, one in (("nbest_size", nbest_size), ("alpha", alpha)):
        if one.ndim > 1 or (one.ndim == 1 and len(one) != len(given)):
            raise InvalidArgumentError(
                f"{op}: {name} must be one number, or one for each of {len(given)} texts; got the "
                f"shape {list(one.shape)}"
            )
    counts = np.broadcast_to(nbest_size, len(given)).tolist()
    alphas = np.broadcast_to(alpha, len(given)).tolist()
    random = np.random.default_rng()
    return [
        model.cut(text, ends, count, one, random)
        for text, count, one in zip(given, counts, alphas, strict=True)
    ]


def _outputs(rows: list[list[Piece]], out_type: DType, splits: DType) -> tuple[Array, Array]:
    ends = np.cumsum([0, *map(len, rows)]).astype(splits.numpy)
    flat = [piece for row in rows for piece in row]
    if out_type is dtypes.string:
        return strings_of((piece.text for piece in flat), (len(flat),)), ends
    return np.array([piece.number for piece in flat], np.int32), ends


def _with_offsets(rows: list[list[Piece]], out_type: DType, splits: DType) -> tuple[Array, ...]:
    flat = [piece for row in rows for piece in row]
    starts = np.array([piece.start for piece in flat], np.int64)
    limits = np.array([piece.end for piece in flat], np.int64)
    return *_outputs(rows, out_type, splits), starts, limits


def _tokenizing(
    op: str, outputs: Callable[[list[list[Piece]], DType, DType], tuple[Array, ...]]
) -> Callable[..., tuple[Array, ...]]:
    """A kernel that returns pieces in the form made by `outputs`."""

    def kernel(
        sp_handle: Array,
        input: Array,
        nbest_size: Array,
        alpha: Array,
        add_bos: Array,
        add_eos: Array,
        reverse: Array,
        *,
        return_nbest: bool,
        out_type: DType,
        Tsplits: DType,  # noqa: N803 (the attribute's name)
    ) -> tuple[Array, ...]:
        ends = _ends(add_bos, add_eos, reverse)
        rows = _rows(op, sp_handle, input, nbest_size, alpha, ends, return_nbest=return_nbest)
        return outputs(rows, out_type, Tsplits)

    return kernel


def _infer_rows(call: InferCall) -> tuple[Shape, Shape]:
    count = call.spec(1).shape.num_elements()
    is_known = count is not None and not call.attrs["return_nbest"]
    return Shape([None]), Shape([count + 1 if is_known else None])  # type: ignore[operator]


TOKENIZE = define(
    name="SentencepieceTokenizeOp",
    signature=(
        f"sp_handle: resource, input: string, {_OPTIONS} -> "
        "output_values: out_type, output_splits: Tsplits"
    ),
    types=_TYPES,
    attrs={"return_nbest": attr("bool", default=False)},
    infer=_infer_rows,
    kernel=_tokenizing("SentencepieceTokenizeOp", _outputs),
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _infer_offsets(call: InferCall) -> tuple[Shape, ...]:
    return *_infer_rows(call), Shape([None]), Shape([None])


TOKENIZE_WITH_OFFSETS = define(
    name="SentencepieceTokenizeWithOffsetsOp",
    signature=(
        f"sp_handle: resource, input: string, {_OPTIONS} -> output_values: out_type, "
        "output_splits: Tsplits, output_offset_starts: int64, output_offset_limits: int64"
    ),
    types=_TYPES,
    attrs={"return_nbest": attr("bool", default=False)},
    infer=_infer_offsets,
    kernel=_tokenizing("SentencepieceTokenizeWithOffsetsOp", _with_offsets),
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _detokenize_kernel(
    sp_handle: Array,
    input_values: Array,
    input_splits: Array,
    add_bos: Array,
    add_eos: Array,
    reverse: Array,
) -> Array:
    model, ends = _of(sp_handle), _ends(add_bos, add_eos, reverse)
    values, splits = input_values.reshape(-1).tolist(), input_splits.reshape(-1)
    if not splits.size or splits[0] < 0 or (np.diff(splits) < 0).any() or splits[-1] > len(values):
        raise InvalidArgumentError(
            "SentencepieceDetokenizeOp: input_splits must ascend within "
            f"{len(values)} pieces, got {splits.tolist()[:20]}"
        )
    if not values:  # TensorFlow Text: an empty result, without prefix and suffix
        return strings_of([b""] * (len(splits) - 1), (len(splits) - 1,))
    pieces = values if input_values.dtype == object else [*map(model.text_of_number, values)]
    places = splits.tolist()
    return strings_of(
        (model.joined(pieces[a:b], ends) for a, b in itertools.pairwise(places)),
        (len(places) - 1,),
    )


def _infer_joined(call: InferCall) -> Shape:
    count = call.spec(2).shape.num_elements()
    return Shape([None if count is None else max(count - 1, 0)])


DETOKENIZE = define(
    name="SentencepieceDetokenizeOp",
    signature=(
        f"sp_handle: resource, input_values: T, input_splits: Tsplits, {_ENDS} -> output: string"
    ),
    types={"T": typed({int32, dtypes.string}, default=int32), "Tsplits": _TYPES["Tsplits"]},
    infer=_infer_joined,
    kernel=_detokenize_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


SIZE = define(
    name="SentencepieceVocabSizeOp",
    signature="sp_handle: resource -> vocab_size: int32",
    infer=scalar,
    kernel=lambda sp_handle: np.array(len(_of(sp_handle).vocabulary.texts), np.int32),
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)


def _to_string_kernel(sp_handle: Array, input: Array) -> Array:
    model = _of(sp_handle)
    return strings_of(map(model.text_of_number, input.reshape(-1).tolist()), input.shape)


def _to_id_kernel(sp_handle: Array, input: Array) -> Array:
    return map_numbers(_of(sp_handle).vocabulary.number, input, np.int32)


def _same(call: InferCall) -> Shape:
    return call.spec(1).shape


TO_STRING = define(
    name="SentencepieceIdToStringOp",
    signature="sp_handle: resource, input: int32 -> values: string",
    infer=_same,
    kernel=_to_string_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)
TO_ID = define(
    name="SentencepieceStringToIdOp",
    signature="sp_handle: resource, input: string -> values: int32",
    infer=_same,
    kernel=_to_id_kernel,
    gradient=NOT_DIFFERENTIABLE,
    effect="read",
)
