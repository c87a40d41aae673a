"""Checks that models can be served, before the served models are changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import OpError, UnknownError
from pinnace.serving.config.model_config import Specific
from pinnace.serving.errors import one_line
from pinnace.serving.models.sources import find_places

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pinnace.serving.config.model_config import ModelConfig
    from pinnace.serving.models.model_state import ServedModel


def check_available(models: Iterable[ServedModel]) -> None:
    """Check that each model has a requested version that is ready.

    Raises:
        UnknownError: a model has none; the error is TensorFlow Serving's.
    """
    silent = []
    for model in models:
        if not model.is_wanted or is_answering(model):
            continue
        policy = model.config.policy
        if isinstance(policy, Specific) and model.table.newest is not None:
            versions = sorted(policy.versions)
            reason = f"model '{model.config.name}': of versions {versions} none could be loaded"
        else:
            reason = one_line(model.why_silent())
        silent.append(f"{{{reason}}}")
    if silent:
        raise UnknownError(
            f"{len(silent)} model(s) did not become available: {{{', '.join(silent)}}}"
        )


def is_answering(model: ServedModel) -> bool:
    """Whether a model has a requested version that is ready."""
    policy, there = model.config.policy, model.table.servables.keys()
    is_there = not isinstance(policy, Specific) or bool(policy.versions & there)
    return model.table.newest is not None and is_there


def look_at(models: Iterable[ModelConfig]) -> list[object]:
    """The present versions of models, for comparison with a later check."""
    found: list[object] = []
    for config in models:
        try:
            places = find_places(config.base_path)
            found.append({version: place.fingerprint() for version, place in places.items()})
        except OpError as error:
            found.append(one_line(error))
    return found
