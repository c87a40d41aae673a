"""Out-of-vocabulary tokens, distributed over several indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.framework import dtypes
from pinnace.ops.math import division
from pinnace.ops.strings import conversion, hashing

if TYPE_CHECKING:
    from pinnace.framework.tensor import Tensor

_METHODS = ("floormod", "farmhash")


def checked_salt(who: str, kind: dtypes.DType, method: str, salt: Any) -> list[int] | None:
    """The key of the hash; None for a hash without.

    Args:
        who: the layer, for messages.
        kind: kind of the entries of the vocabulary.
        method: "floormod" or "farmhash"; texts are hashed either way.
        salt: one integer or two.

    Raises:
        ValueError: unknown method; a salt that is none, or with remainders.
    """
    if method not in _METHODS:
        raise ValueError(
            f"{who}: Invalid value for argument `oov_method`. Expected one of "
            f"{', '.join(_METHODS)}, got {method!r}"
        )
    if salt is None:
        return None
    if kind.is_integer and method != "farmhash":
        raise ValueError(
            f"{who}: `salt` can only be used when `oov_method='farmhash'`, got {method!r}"
        )
    if isinstance(salt, int):
        return [salt, salt]
    if isinstance(salt, (list, tuple)) and len(salt) == 2:
        return list(salt)
    raise ValueError(f"{who}: The `salt` argument can only be a tuple of size 2, got {salt!r}")


def spread(x: Tensor, count: int, method: str, salt: list[int] | None) -> Tensor:
    """An index below `count` for each element: its remainder, or its hash.

    Args:
        x: [...], integers or texts.
        count: how many numbers.
        method: for integers: "floormod" for the remainder, "farmhash" for the hash of the text.
        salt: the key of the hash, two integers; None for FarmHash, which has none.

    Returns:
        [...], int64.

    Source:
        Keras `IndexLookup`: FarmHash of the text; with a salt SipHash.
    """
    if x.dtype is not dtypes.string:
        if method == "floormod":
            return division.floormod(x, count)
        x = conversion.as_string(x)
    if salt is None:
        return hashing.to_hash_bucket_fast(x, count)
    return hashing.to_hash_bucket_strong(x, count, salt)
