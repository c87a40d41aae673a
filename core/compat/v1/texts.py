"""Version 1's string functions: splitting returns sparse tensors."""

from __future__ import annotations

from typing import Any

from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.dtypes import string
from pinnace.ops.composites.ragged.tensor import RaggedTensor
from pinnace.ops.composites.sparse.tensor import SparseTensor
from pinnace.ops.composites.strings import split
from pinnace.ops.execute import execute
from pinnace.ops.strings.splitting import STRING_SPLIT

_RESULTS = ("SparseTensor", "RaggedTensor")


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor | RaggedTensor:
    """Each string split at every character of a separator.

    Args:
        source: [n], string.
        sep: the characters to cut at; a space if None, and "" cuts between all bytes.
        skip_empty: leave empty pieces out.
        delimiter: the earlier name of `sep`.
        result_type: `SparseTensor` or `RaggedTensor`.
        name: name of the node while tracing.

    Returns:
        [n, (pieces)], string.

    Raises:
        ValueError: `sep` and `delimiter` are both given, or `result_type` is unknown.

    Source:
        TensorFlow op `StringSplit` (string_ops.cc).
    """
    if sep is not None and delimiter is not None:
        raise ValueError("string_split: sep and delimiter are synonyms, give one of them")
    given = delimiter if sep is None else sep
    between = convert_to_tensor(" " if given is None else given, string)
    strings = convert_to_tensor(source, string)
    found = execute(STRING_SPLIT, strings, between, skip_empty=bool(skip_empty), name=name)
    return _as(SparseTensor(*found), _checked(result_type))


def strings_split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> SparseTensor | RaggedTensor:
    """`tf.strings.split` with a sparse result.

    Args:
        input: [n], string; or, for `RaggedTensor`, of any rank.
        sep: the separator; white space if None or "".
        maxsplit: how often to cut at most, -1 for everywhere.
        result_type: `SparseTensor` or `RaggedTensor`.
        source: the earlier name of `input`.
        name: name of the node while tracing.

    Raises:
        ValueError: neither or both of `input` and `source` are given, or `result_type` is unknown.
    """
    if (input is None) == (source is None):
        raise ValueError("strings.split: input and source are synonyms, give one of them")
    wanted = _checked(result_type)
    strings = convert_to_tensor(source if input is None else input, string)
    if strings.shape.rank == 0:
        strings = strings[None]
    found = split(strings, sep, maxsplit, name)
    return found if wanted == "RaggedTensor" else found.to_sparse()  # type: ignore[no-any-return]


def _checked(result_type: str) -> str:
    if result_type not in _RESULTS:
        raise ValueError(f"result_type must be {' or '.join(_RESULTS)}, got {result_type!r}")
    return result_type


def _as(found: SparseTensor, wanted: str) -> SparseTensor | RaggedTensor:
    if wanted == "SparseTensor":
        return found
    return RaggedTensor.from_value_rowids(
        found.values, found.indices[:, 0], nrows=found.dense_shape[0], validate=False
    )
