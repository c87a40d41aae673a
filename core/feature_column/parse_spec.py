"""`tf.io.parse_example` specs of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinnace.feature_column.column import FeatureColumn

if TYPE_CHECKING:
    from collections.abc import Iterable


def make_parse_example_spec(feature_columns: Iterable[FeatureColumn]) -> dict[str, Any]:
    """The `features` of `tf.io.parse_example` that columns need.

    Args:
        feature_columns: columns; several may read one feature, in one way.

    Returns:
        Specs by feature key.

    Raises:
        ValueError: something that is no column; a feature that two columns read in two ways.
    """
    found: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(  # noqa: TRY004 (TensorFlow's class)
                f"All feature_columns must be FeatureColumn instances. Given: {column!r}"
            )
        for key, value in column.parse_example_spec.items():
            if key in found and found[key] != value:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given "
                    f"{value} and {found[key]}"
                )
            found[key] = value
    return found
