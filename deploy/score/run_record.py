"""The record of how a folder's results were made: a run that would mix others in is refused."""

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
    """Write down what a run is made with, or compare it with what is written.

    Args:
        output: the folder of results.
        recorded: from `ScoreSettings.recorded`.
        names: the files of results that the run would have.

    Raises:
        FailedPreconditionError: the folder holds results of another run, or files of other origin
            with these names.
        DataLossError: the record cannot be read.
    """
    found = output.read(RECORD)
    there = output.names() - {RECORD}
    if found is not None and not there and _differences(output, found, recorded):
        # Nothing was made with what it says: flags may be put right.
        output.remove(RECORD)
        found = None
    if found is None:
        strange = sorted(set(names) & there)
        if strange:
            raise FailedPreconditionError(
                f"{output.shown}/{strange[0]} is there already, and no run of `pinnace score` made "
                "it\n  Try: another --output"
            )
        document = {"version": _VERSION, "made_with": dict(recorded)}
        output.create(RECORD, (json.dumps(document, indent=2) + "\n").encode())
        found = output.read(RECORD)  # another process may have been first
    others = _differences(output, found or b"", recorded)
    if others:
        raise FailedPreconditionError(
            f"{output.shown} holds results of another run: {'; '.join(others)}\n"
            "  Try: the same model and flags, or another --output"
        )


def check_model(output: Output, model: str, digest: str) -> None:
    """Refuse a model that is not the one of the run: its files were changed since it began.

    Args:
        output: the folder of results.
        model: its path.
        digest: of its files, now that they were read.

    Raises:
        FailedPreconditionError: the record names another.
    """
    found = output.read(RECORD)
    if found is not None and _differences(output, found, {"model": digest}):
        raise changed(model)


def changed(model: str) -> FailedPreconditionError:
    """The files of the model are not what they were."""
    return FailedPreconditionError(
        f"{model} was changed while it scored: its files are not those that the run began with\n"
        "  Try: the model as it was, to go on; or another --output. Give a model to a run that "
        "nobody overwrites, as a numbered version"
    )


def _differences(output: Output, found: bytes, recorded: Mapping[str, Any]) -> list[str]:
    """The entries in which a record differs."""
    try:
        document = json.loads(found)
        version, made_with = document["version"], dict(document["made_with"])
    except (ValueError, KeyError, TypeError) as error:
        raise DataLossError(
            f"{output.shown}/{RECORD} cannot be read: {error}\n  Try: another --output"
        ) from None
    if version != _VERSION:
        raise FailedPreconditionError(
            f"{output.shown} holds results of another version of `pinnace score`\n"
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
