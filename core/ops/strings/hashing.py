"""Strings to buckets: StringToHashBucket, StringToHashBucketFast, StringToHashBucketStrong."""

from collections.abc import Callable, Sequence

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.tensor import Array, Tensor, TensorLike
from pinnace.ops.composite_arguments import takes_composites
from pinnace.ops.execute import execute_one
from pinnace.ops.kernels.fingerprints import farm64s, murmur64s, sip64s
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, attr
from pinnace.ops.registry import define, same_as_input
from pinnace.ops.strings.elements import slices_of

__all__ = ["to_hash_bucket", "to_hash_bucket_fast", "to_hash_bucket_strong"]


def _check(op: str, num_buckets: int) -> None:
    if num_buckets < 1:
        raise InvalidArgumentError(f"{op}: num_buckets must be at least 1, got {num_buckets}")


def _buckets(hashes: Callable[[list[bytes]], Array], x: Array, num_buckets: int) -> Array:
    out = np.empty(x.size, np.int64)
    for piece, items in slices_of(x):
        out[piece] = hashes(items) % num_buckets
    return out.reshape(x.shape)


def to_hash_bucket(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """An older hash of each string modulo `num_buckets`; `to_hash_bucket_fast` is preferred.

    Args:
        input: [...], string.
        num_buckets: how many buckets, at least 1.
        name: name of the node while tracing.

    Returns:
        [...], int64, from 0 to num_buckets - 1.

    Raises:
        InvalidArgumentError: `num_buckets` is less than 1.

    Source:
        TensorFlow op `StringToHashBucket` (string_ops.cc): MurmurHash64A.
    """
    return execute_one(STRING_TO_HASH_BUCKET, input, num_buckets=int(num_buckets), name=name)


def _kernel(string_tensor: Array, *, num_buckets: int) -> Array:
    _check("StringToHashBucket", num_buckets)
    return _buckets(murmur64s, string_tensor, num_buckets)


STRING_TO_HASH_BUCKET = define(
    name="StringToHashBucket",
    signature="string_tensor: string -> output: int64",
    attrs={"num_buckets": attr("int")},
    infer=same_as_input,
    kernel=_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)


@takes_composites(values=1)
def to_hash_bucket_fast(input: TensorLike, num_buckets: int, name: str | None = None) -> Tensor:
    """The fingerprint of each string modulo `num_buckets`, the same on all machines.

    Args:
        input: [...], string.
        num_buckets: how many buckets, at least 1.
        name: name of the node while tracing.

    Returns:
        [...], int64, from 0 to num_buckets - 1.

    Raises:
        InvalidArgumentError: `num_buckets` is less than 1.

    Source:
        TensorFlow op `StringToHashBucketFast` (string_ops.cc): FarmHash's Fingerprint64.
    """
    return execute_one(STRING_TO_HASH_BUCKET_FAST, input, num_buckets=int(num_buckets), name=name)


def _fast_kernel(input: Array, *, num_buckets: int) -> Array:
    _check("StringToHashBucketFast", num_buckets)
    return _buckets(farm64s, input, num_buckets)


STRING_TO_HASH_BUCKET_FAST = define(
    name="StringToHashBucketFast",
    signature="input: string -> output: int64",
    attrs={"num_buckets": attr("int")},
    infer=same_as_input,
    kernel=_fast_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)


@takes_composites(values=1)
def to_hash_bucket_strong(
    input: TensorLike, num_buckets: int, key: Sequence[int], name: str | None = None
) -> Tensor:
    """The keyed hash of each string modulo `num_buckets`.

    Args:
        input: [...], string.
        num_buckets: how many buckets, at least 1.
        key: two integers of 64 bits.
        name: name of the node while tracing.

    Returns:
        [...], int64, from 0 to num_buckets - 1.

    Raises:
        InvalidArgumentError: `num_buckets` is less than 1, or `key` is not two integers.

    Source:
        TensorFlow op `StringToHashBucketStrong` (string_ops.cc): SipHash-2-4.
    """
    return execute_one(
        STRING_TO_HASH_BUCKET_STRONG,
        input,
        num_buckets=int(num_buckets),
        key=tuple(int(k) for k in key),
        name=name,
    )


def _strong_kernel(input: Array, *, num_buckets: int, key: tuple[int, ...]) -> Array:
    _check("StringToHashBucketStrong", num_buckets)
    if len(key) != 2:
        raise InvalidArgumentError(
            f"StringToHashBucketStrong: Key must have 2 elements, integers, got {list(key)}"
        )
    low, high = (k % (1 << 64) for k in key)
    return _buckets(lambda items: sip64s(items, (low, high)), input, num_buckets)


STRING_TO_HASH_BUCKET_STRONG = define(
    name="StringToHashBucketStrong",
    signature="input: string -> output: int64",
    attrs={"num_buckets": attr("int"), "key": attr("list(int)")},
    infer=same_as_input,
    kernel=_strong_kernel,
    gradient=NOT_DIFFERENTIABLE,
    elementwise=True,
)
