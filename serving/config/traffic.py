"""Traffic splitting: requests distributed over versions by weight, and copied to shadows."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pinnace.serving.config.model_config import ModelConfig

T = TypeVar("T")

_TARGET = re.compile(r"[a-zA-Z0-9_]+")
_DIGITS = 19  # digits of the largest version
# The first of these headers decides: requests with the same value get the same version.
_STICKY_HEADERS = (b"x-request-id", b"x-api-key", b"authorization")


@dataclass(frozen=True, slots=True)
class Shadow:
    """A version that gets copies of requests and whose results are not returned.

    Attributes:
        model: the model's name.
        version: the version's number.
        fraction: its fraction of the model's requests, from 0 to 1.
    """

    model: str
    version: int
    fraction: float


@dataclass(frozen=True, slots=True)
class Split:
    """The shares of a model's versions in requests that name no version.

    Attributes:
        model: the model's name.
        shares: version numbers or labels, and their weights.
    """

    model: str
    shares: tuple[tuple[str, float], ...]

    def versions(self) -> frozenset[int]:
        """The versions given by number."""
        return frozenset(int(target) for target, _ in self.shares if target.isdigit())

    def choose(self, find: Callable[[str], T | None], headers: Mapping[bytes, bytes]) -> T | None:
        """Return the target that answers a request; None if no target with a share is loaded.

        Args:
            find: returns the target of a number or label; None if it is not loaded, and its share
                goes to the others.
            headers: the request's headers, names in lower case.
        """
        found = []
        total = 0.0
        for target, weight in self.shares:
            one = find(target)
            if one is not None and weight:
                total += weight
                found.append((one, total))
        point = self._place(headers) * total
        return next((one for one, end in found if point < end), found[-1][0] if found else None)

    def parts(self, find: Callable[[str], T | None]) -> list[tuple[T, float]]:
        """Return the targets of requests, and their fractions, from 0 to 1.

        Args:
            find: as for `choose`.
        """
        found = [(find(target), weight) for target, weight in self.shares if weight]
        total = sum(weight for one, weight in found if one is not None)
        return [(one, weight / total) for one, weight in found if one is not None]

    def _place(self, headers: Mapping[bytes, bytes]) -> float:
        """A number from 0 to 1: from the client's key if there is one, otherwise random."""
        for name in _STICKY_HEADERS:
            value = headers.get(name)
            if value:
                # Python's own hash differs between workers.
                digest = blake2b(value, digest_size=7, key=self.model.encode()[:64]).digest()
                return int.from_bytes(digest, "big") / 2**56
        return random.random()


def parse_split(text: str) -> Split:
    """Parse `m=stable:90,7:10` as shares of the model `m`.

    Raises:
        InvalidArgumentError: the text has another form, a target is named twice, a weight is
            negative or not a number, or all weights are 0.
    """
    name, _, rest = text.rpartition("=")
    shares: dict[str, float] = {}
    for part in rest.split(","):
        target, _, weight = part.strip().partition(":")
        if target.isdigit():
            target = str(int(target)) if len(target) <= _DIGITS else ""
        number = _number(weight)
        if not name or not _TARGET.fullmatch(target) or number is None or number < 0:
            raise InvalidArgumentError(
                "--version_weights must be NAME=VERSION_OR_LABEL:WEIGHT,... with weights of 0 or "
                f"more, got '{text}'"
            )
        if target in shares:
            raise InvalidArgumentError(f"--version_weights {text}: '{target}' is given twice")
        shares[target] = number
    if not any(shares.values()):
        raise InvalidArgumentError(f"--version_weights {text}: one weight must be above 0")
    return Split(name, tuple(shares.items()))


def parse_shadow(text: str) -> Shadow:
    """Parse `m=5@0.1` as version 5 of the model `m`, for a tenth of its requests.

    Raises:
        InvalidArgumentError: the text has another form, or the fraction is not from 0 to 1.
    """
    name, _, rest = text.rpartition("=")
    version, at, fraction = rest.partition("@")
    number = _number(fraction) if at else 1.0
    is_version = version.isascii() and version.isdigit() and len(version) <= _DIGITS
    if not name or not is_version or number is None or not 0 <= number <= 1:
        raise InvalidArgumentError(
            f"--shadow must be NAME=VERSION@FRACTION with a fraction from 0 to 1, got '{text}'"
        )
    return Shadow(name, int(version), number)


def check_traffic(splits: Iterable[Split], shadows: Iterable[Shadow]) -> None:
    """Check that each model has at most one split, and that shadows have no share.

    Raises:
        InvalidArgumentError: a model has two, or a shadow has a share.
    """
    by_model: dict[str, Split] = {}
    for split in splits:
        if split.model in by_model:
            raise InvalidArgumentError(f"version_weights of model '{split.model}' are given twice")
        by_model[split.model] = split
    seen = set()
    for shadow in shadows:
        name, version = shadow.model, shadow.version
        if (name, version) in seen:
            raise InvalidArgumentError(f"shadow {version} of model '{name}' is given twice")
        seen.add((name, version))
        if name in by_model and version in by_model[name].versions():
            raise InvalidArgumentError(
                f"version {version} of model '{name}' is a shadow, which never answers: "
                "it can have no weight"
            )


def check_targets(
    splits: Iterable[Split], shadows: Iterable[Shadow], models: Iterable[ModelConfig]
) -> None:
    """Check that the named models and labels are configured.

    Raises:
        InvalidArgumentError: one is not, or a label with a weight stands for a shadow.
    """
    by_name = {model.name: model for model in models}
    aside = {(shadow.model, shadow.version) for shadow in shadows}
    for what, name in (
        *(("version_weights", split.model) for split in splits),
        *(("shadow", name) for name, _ in sorted(aside)),
    ):
        if name not in by_name:
            known = ", ".join(f"'{one}'" for one in sorted(by_name))
            raise InvalidArgumentError(f"{what}: no model is named '{name}'; there are {known}")
    for split in splits:
        labels = by_name[split.model].labels
        for target, _ in split.shares:
            if target.isdigit():
                continue
            if target not in labels:
                raise InvalidArgumentError(
                    f"version_weights: model '{split.model}' has no label '{target}'; labels "
                    "are set in the model configuration file"
                )
            if (split.model, labels[target]) in aside:
                raise InvalidArgumentError(
                    f"version_weights: label '{target}' of model '{split.model}' stands for "
                    f"version {labels[target]}, a shadow, which never answers"
                )


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
