"""The record of a folder's settings: a run with others, which would mix results, is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pinnace.framework.errors import DataLossError, FailedPreconditionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pinnace.deploy.score.stores import Output

RECORD = "_score.json"
_VERSION = 2
_TOLD = {"finite": "--refuse-nan", "model": "MODEL", "tags": "--tags", "outputs": "--outputs"}


def claim(output: Output, recorded: Mapping[str, Any], names: Iterable[str]) -> None:
    """Write the record of a run, or compare it with the existing one.

    Args:
        output: the folder of results.
        recorded: the settings from `ScoreSettings.recorded`.
        names: the files of results that the run would write.

    Raises:
        FailedPreconditionError: the folder holds results of a different run, or files of another
            origin with these names.
        DataLossError: the record cannot be read.
    """
    found = output.read(RECORD)
    there = output.names() - {RECORD}
    if found is not None and not there and _differences(output, found, recorded):
        # No results exist yet, so the settings may be changed.
        output.remove(RECORD)
        found = None
    if found is None:
        strange = sorted(set(names) & there)
        if strange:
            raise FailedPreconditionError(
                f"{output.shown}/{strange[0]} exists, and was not written by `pinnace score`\n"
                "  Try: another --output"
            )
        document = {"version": _VERSION, "made_with": dict(recorded)}
        output.create(RECORD, (json.dumps(document, indent=2) + "\n").encode())
        found = output.read(RECORD)  # another process may have written it first
    others = _differences(output, found or b"", recorded)
    if others:
        raise FailedPreconditionError(
            f"{output.shown} holds results of a different run: {'; '.join(others)}\n"
            "  Try: the same model and flags, or another --output"
        )


def check_model(output: Output, model: str, digest: str) -> None:
    """Refuse a model whose files were changed since the run began.

    Args:
        output: the folder of results.
        model: the model's path.
        digest: the digest of its files after they were read.

    Raises:
        FailedPreconditionError: the record has another digest.
    """
    found = output.read(RECORD)
    if found is not None and _differences(output, found, {"model": digest}):
        raise changed(model)


def changed(model: str) -> FailedPreconditionError:
    """The error for a model whose files were changed during a run."""
    return FailedPreconditionError(
        f"{model} was changed during the run: its files differ from those at the beginning\n"
        "  Try: restore the model and run again, or use another --output; numbered versions "
        "are not overwritten"
    )


def _differences(output: Output, found: bytes, recorded: Mapping[str, Any]) -> list[str]:
    """The entries that differ from the record."""
    try:
        document = json.loads(found)
        version, made_with = document["version"], dict(document["made_with"])
    except (ValueError, KeyError, TypeError) as error:
        raise DataLossError(
            f"{output.shown}/{RECORD} cannot be read: {error}\n  Try: another --output"
        ) from None
    if version != _VERSION:
        raise FailedPreconditionError(
            f"{output.shown} holds results of a different version of `pinnace score`\n"
            "  Try: another --output"
        )
    return [
        f"{_option(name)} was {_text(made_with.get(name))}, is {_text(recorded[name])}"
        for name in recorded
        if made_with.get(name) != recorded[name]
    ]


def _option(name: str) -> str:
    return _TOLD.get(name, f"--{name.replace('_', '-')}")


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "none"
    return "not given" if value is None else str(value)
