"""The statistics of versions, for Triton's protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import NotFoundError
from pinnace.serving.errors import UnservedError, in_triton_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pinnace.serving.models.repository import Repository
    from pinnace.serving.models.servable import Servable
    from pinnace.serving.models.tables import Which
    from pinnace.serving.running.statistics import Duration, Statistics


def statistics_of(repository: Repository, which: Which) -> list[Servable]:
    """Return the versions whose statistics a request wants, by name and number.

    Args:
        repository: the server's repository.
        which: a version; without a version, all of a model; without a name, all of all models.

    Raises:
        NotFoundError: there is no such version.
    """
    if which.name and which.version is not None:
        try:
            return [repository.get(which)]
        except NotFoundError as error:
            raise in_triton_words(error) from None
    found = [one for one in repository.servables() if which.name in ("", one.name)]
    if which.name and not found:
        raise in_triton_words(UnservedError(which.name))
    return sorted(found, key=lambda one: (one.name, one.version))


def stages(statistics: Statistics) -> Mapping[str, Duration]:
    """The durations under Triton's names."""
    return {
        "success": statistics.success,
        "fail": statistics.fail,
        "queue": statistics.queue,
        "compute_input": statistics.compute_input,
        "compute_infer": statistics.compute_infer,
        "compute_output": statistics.compute_output,
    }
