"""The columns of a file that form each input."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.score.chunks import UNNAMED
from pinnace.deploy.score.fitting import RowSpec, fit, shaped
from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.score.chunks import Chunk
    from pinnace.deploy.score.fitting import Rows

_SHOWN = 20  # names in a message


@dataclass(frozen=True, slots=True)
class Binding:
    """The columns from which a model's inputs are formed.

    Attributes:
        specs: the row spec of each input.
        columns: the column names of each input; several are concatenated.
    """

    specs: Mapping[str, RowSpec]
    columns: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> list[str]:
        """Every column that is read."""
        return list(dict.fromkeys(name for names in self.columns.values() for name in names))

    def feeds(self, chunk: Chunk) -> tuple[dict[str, Rows], dict[int, str]]:
        """The rows of each input, and the reasons for bad rows by index in the chunk."""
        bad = dict(chunk.bad)
        found: dict[str, Rows] = {}
        for name, columns in self.columns.items():
            rows, wrong = self._rows(self.specs[name], columns, chunk)
            found[name] = rows
            for place, reason in wrong.items():
                bad.setdefault(place, reason)
        return found, bad

    def _rows(
        self, spec: RowSpec, columns: tuple[str, ...], chunk: Chunk
    ) -> tuple[Rows, dict[int, str]]:
        if len(columns) == 1:
            values = chunk.columns[columns[0]]
            rows, wrong = fit(values, spec, textual=chunk.textual)
            what = f"column {columns[0]!r}: " if columns[0] != UNNAMED else ""
            return rows, {place: f"{what}{reason}" for place, reason in wrong.items()}
        parts = []
        bad: dict[int, str] = {}
        part_spec = RowSpec(spec.dtype, (), spec.finite)
        for name in columns:
            part, wrong = fit(chunk.columns[name], part_spec, textual=chunk.textual)
            parts.append(part)
            for place, reason in wrong.items():
                bad.setdefault(place, f"column {name!r}: {reason}")
        rows = np.stack([np.asarray(part) for part in parts], axis=1)
        shape = shaped(rows.shape[1:], spec.sizes) or rows.shape[1:]
        return rows.reshape((len(rows), *shape)), bad


def bind(
    specs: Mapping[str, RowSpec],
    features: Mapping[str, Sequence[str]],
    names: Sequence[str] | None,
    where: str,
) -> Binding:
    """Bind a model's inputs to the columns of a file.

    Args:
        specs: the row spec of each input.
        features: the user's columns for some inputs.
        names: the file's columns; None if its rows are unnamed values.
        where: the file, for messages.

    Raises:
        InvalidArgumentError: a column is missing, or the number of columns does not match an input.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, spec in specs.items():
        wanted = tuple(features.get(name, (name,)))
        if names is None:
            if len(specs) > 1 or features:
                raise InvalidArgumentError(
                    f"{where}: its rows are values without names, and the model takes "
                    f"{_listed(specs)}\n  Try: a file with a name for each column"
                )
            found[name] = (UNNAMED,)
            continue
        missing = [one for one in wanted if one not in names]
        if missing:
            raise _missing(missing[0], name, specs, names, where, given=name in features)
        if len(wanted) > 1 and shaped((len(wanted),), spec.sizes) is None:
            raise InvalidArgumentError(
                f"{where}: input {name!r} takes rows of {spec.text}, and --features names "
                f"{len(wanted)} columns"
            )
        found[name] = wanted
    return Binding(dict(specs), found)


def _missing(
    column: str,
    name: str,
    specs: Mapping[str, RowSpec],
    names: Sequence[str],
    where: str,
    *,
    given: bool,
) -> InvalidArgumentError:
    spec = specs[name]
    advice = ""
    near = difflib.get_close_matches(column, names, 1, 0.7)
    count = spec.sizes[-1] if spec.sizes else None
    if near:
        advice = near[0] if given else f"--features {name}={near[0]}"
    elif not given and spec.dtype is not dtypes.string and len(names) > 1:
        some = "COLUMNS" if len(specs) == 1 else f"{name}=COLUMNS"
        many = "those" if count is None else f"the {count}"
        advice = f"--features {some} with {many} that the model was trained with, in that order"
    elif not given and len(names) == 1:
        advice = f"--features {name}={names[0]}"
    tried = f"\n  Try: {advice}" if advice else ""
    return InvalidArgumentError(
        f"{where}: there is no column {column!r} for input {name!r}, whose rows are {spec.text}; "
        f"its columns are: {_listed(names)}{tried}"
    )


def _listed(names: Any) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return (", ".join(listed[:_SHOWN]) or "none") + more


def parse_features(
    given: Sequence[str], inputs: Sequence[str], where: object
) -> dict[str, tuple[str, ...]]:
    """Parse `--features`: columns by input.

    Args:
        given: `a,b,c` for a model with one input, or `INPUT=a,b,c`.
        inputs: the model's inputs.
        where: the model, for messages.

    Raises:
        InvalidArgumentError: an input does not exist, or is ambiguous.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, columns = text.partition("=")
        if not equals:
            name, columns = "", text
        name = name.strip()
        if not name:
            if len(inputs) != 1:
                raise InvalidArgumentError(
                    f"--features must be INPUT=COLUMNS, got {text!r}: {where} has the inputs "
                    f"{', '.join(inputs)}"
                )
            name = inputs[0]
        if name not in inputs:
            raise InvalidArgumentError(
                f"--features: {where} has no input {name!r}; it has: {', '.join(inputs)}"
            )
        if name in found:
            raise InvalidArgumentError(f"--features: input {name!r} is given twice")
        listed = tuple(one.strip() for one in columns.split(",") if one.strip())
        if not listed:
            raise InvalidArgumentError(f"--features: no column for input {name!r}")
        found[name] = listed
    return found
