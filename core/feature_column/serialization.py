"""Conversion of columns to and from Keras 2's configurations."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from pinnace.feature_column import categorical, embeddings, numeric, vocabulary
from pinnace.feature_column.column import FeatureColumn
from pinnace.framework import dtypes

if TYPE_CHECKING:
    from collections.abc import Callable

_CLASSES: dict[str, type[Any]] = {
    cls.__name__: cls
    for cls in (
        categorical.CrossedColumn,
        categorical.HashedCategoricalColumn,
        categorical.IdentityCategoricalColumn,
        categorical.SequenceCategoricalColumn,
        categorical.WeightedCategoricalColumn,
        embeddings.EmbeddingColumn,
        embeddings.IndicatorColumn,
        numeric.BucketizedColumn,
        numeric.NumericColumn,
        numeric.SequenceNumericColumn,
        vocabulary.VocabularyFileCategoricalColumn,
        vocabulary.VocabularyListCategoricalColumn,
    )
}
# Fields with functions and objects of the program.
_CALLABLES = ("initializer", "normalizer_fn")


def serialize_feature_column(column: Any, encode: Callable[[Any], Any]) -> Any:
    """A column as {"class_name", "config"}; a feature key as itself.

    Args:
        column: a column, or the key of a feature.
        encode: encodes initializers and normalizers.

    Raises:
        ValueError: a column with a table that others share: each would get its own.
    """
    if isinstance(column, str):
        return column
    if type(column).__name__ not in _CLASSES:
        raise ValueError(
            f"feature column {column.name!r} ({type(column).__name__}) cannot be written into a "
            "configuration"
        )
    config = {}
    for field in dataclasses.fields(column):
        value = getattr(column, field.name)
        if field.name in _CALLABLES:
            value = encode(value)
        elif field.name == "dtype":
            value = value.name
        elif isinstance(value, FeatureColumn):
            value = serialize_feature_column(value, encode)
        elif field.name == "keys":
            value = [serialize_feature_column(key, encode) for key in value]
        config[field.name] = value
    return {"class_name": type(column).__name__, "config": config}


def deserialize_feature_column(config: Any, decode: Callable[[Any], Any]) -> Any:
    """The column given to `serialize_feature_column`.

    Args:
        config: its result.
        decode: decodes initializers and normalizers.

    Raises:
        ValueError: a class that is no column's, or arguments that it does not take.
    """
    if isinstance(config, str):
        return config
    name = config.get("class_name") if isinstance(config, dict) else None
    cls = _CLASSES.get(str(name))
    if cls is None:
        raise ValueError(f"Unknown feature column class: {name}, of {', '.join(sorted(_CLASSES))}")
    given = dict(config["config"])
    fields = {field.name: field for field in dataclasses.fields(cls)}
    missing = {
        name for name, field in fields.items() if field.default is dataclasses.MISSING
    } - given.keys()
    if missing or given.keys() - fields.keys():
        raise ValueError(f"Invalid config: {given}, expected keys: {tuple(fields)}")
    return cls(**{key: _decoded(key, value, decode) for key, value in given.items()})


def _decoded(key: str, value: Any, decode: Callable[[Any], Any]) -> Any:
    if key in _CALLABLES:
        return decode(value)
    if key == "dtype":
        return dtypes.as_dtype(value)
    if isinstance(value, dict) and "class_name" in value:
        return deserialize_feature_column(value, decode)
    if key == "keys":
        return tuple(deserialize_feature_column(one, decode) for one in value)
    return _as_tuples(value)


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(x) for x in value) if isinstance(value, (list, tuple)) else value
