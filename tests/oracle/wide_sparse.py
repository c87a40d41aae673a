"""Cases only for the oracle, of ops on sparse tensors: hashes, and serialised tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from cases.sparse.crossing import columns
from cases.sparse.matrices import sparse
from oracle.wide import Drawn, wide
from pinnace.framework import dtypes
from pinnace.ops.execute import execute
from pinnace.ops.registry import lookup
from support.opcase import tensors_of

if TYPE_CHECKING:
    from oracle.calls import Wide

BUCKETS = st.sampled_from([0, 1, 1000, 2**62])


def crossed(draw: st.DrawFn) -> Drawn:
    inputs = draw(columns())
    hashed = draw(st.booleans())
    is_text = all(one.dtype == object for one in (*inputs[1], *inputs[3]))
    return inputs, {
        "hashed_output": hashed,
        "num_buckets": draw(BUCKETS),
        "hash_key": draw(st.sampled_from([956888297470, 0, -1])),
        "out_type": dtypes.int64 if hashed else dtypes.string,
        "internal_type": dtypes.string if is_text else dtypes.int64,
    }


def hashed(draw: st.DrawFn) -> Drawn:
    inputs = draw(columns())
    salt = np.array(draw(st.tuples(st.integers(0, 2**62), st.integers(-9, 9))), np.int64)
    # With the strong hash, TensorFlow's process crashes on integers in dense inputs.
    strong = draw(st.booleans()) and all(one.dtype == object for one in inputs[3])
    more = (np.array(draw(BUCKETS)), np.array(strong), salt)
    return (*inputs, *more), {}


def values(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """A sparse matrix of one of several dtypes."""
    indices, found, shape = draw(sparse())
    kind = draw(st.sampled_from([np.float32, np.float64, np.int32, np.int64, np.bool_, object]))
    if kind is object:
        words = np.empty(len(found), object)
        words[:] = [str(n).encode() for n in found]
        return indices, words, shape
    return indices, found.astype(kind), shape


def whole(draw: st.DrawFn) -> Drawn:
    return values(draw), {}


def bounds(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "minlength": draw(st.sampled_from([-1, 0, 9])),
        "maxlength": draw(st.sampled_from([-1, 0, 3])),
        "binary_output": False,
    }


def limited(draw: st.DrawFn) -> Drawn:
    shape = draw(st.sampled_from([(0,), (4,), (2, 3)]))
    seed = draw(st.integers(0, 2**16))
    drawn = np.random.default_rng(seed).integers(-(seed % 2), 7, shape)
    return (drawn, np.zeros(0, np.float32)), bounds(draw)


def packed(op: str, draw: st.DrawFn) -> tuple[Any, Any]:
    """A serialised sparse matrix, and the dtype of its values."""
    parts = values(draw)
    kind = dtypes.string if parts[1].dtype == object else dtypes.as_dtype(parts[1].dtype)
    return np.asarray(execute(lookup(op), *tensors_of(parts))._array), kind


def unpacked(draw: st.DrawFn) -> Drawn:
    found, kind = packed("SerializeSparse", draw)
    if draw(st.booleans()):
        found = np.stack([found, found])
    return (found,), {"dtype": kind}


def unpacked_rows(draw: st.DrawFn) -> Drawn:
    found, kind = packed("SerializeManySparse", draw)
    return (found,), {"dtype": kind}


CASES: tuple[Wide, ...] = (
    wide("DenseCountSparseOutput", limited),
    wide("SparseCross", crossed),
    wide("SparseCrossHashed", hashed),
    wide("SerializeSparse", whole),
    wide("SerializeManySparse", whole),
    wide("DeserializeSparse", unpacked),
    wide("DeserializeManySparse", unpacked_rows),
)
