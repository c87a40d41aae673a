"""Scoring on a cluster of Ray: actors that hold the model, and are given one part after another."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any

import ray

from pinnace.deploy.score.scorer import PartResult, Scorer
from pinnace.framework.errors import OpError, UnavailableError
from pinnace.keras.own_modules import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.deploy.score.parts import Part
    from pinnace.deploy.score.run import Engine
    from pinnace.deploy.score.settings import ScoreSettings

_TRIES = 3


class _Actor:
    """A process of the cluster with the model."""

    def __init__(self, settings: ScoreSettings) -> None:
        self._settings = settings
        self._scorer: Scorer | None = None

    def score(self, part: Part) -> PartResult | OpError:
        """A part; what this library raises is handed back, as the cluster would wrap it."""
        try:
            if self._scorer is None:
                self._scorer = Scorer(self._settings)
            return self._scorer.score(part)
        except OpError as error:
            return type(error)(str(error))


def actor_pool(address: str | None = None, actors: int | None = None) -> Engine:
    """An engine for `run_plan`: actors of a Ray cluster.

    All machines must reach the model, the data and the output under the same paths or URLs. An
    actor that dies is started again and its part with it, at most three times; what it had not
    finished was never there. A driver that dies leaves whole files: the next one goes on.

    Args:
        address: of the cluster; None takes `RAY_ADDRESS`, or starts one on this machine.
        actors: how many; None makes one for each CPU of the cluster.

    Returns:
        A function of settings, parts and a report of rows.

    Raises:
        UnavailableError: the cluster does not answer.
    """
    if not ray.is_initialized():
        told = {name: os.environ[name] for name in (VARIABLE,) if name in os.environ}
        where = address or os.environ.get("RAY_ADDRESS")
        try:
            ray.init(address=where, runtime_env={"env_vars": told}, log_to_driver=False)
        except Exception as error:  # its errors share no class of their own
            raise UnavailableError(
                f"ray: no cluster at {where or 'this machine'}: {error}"
            ) from error

    def score(
        settings: ScoreSettings, parts: Sequence[Part], report: Callable[[int], object]
    ) -> Iterator[PartResult]:
        count = actors or max(1, int(ray.cluster_resources().get("CPU", 1)))
        yield from _score(settings, parts, min(count, len(parts)), report)

    return score


def _score(
    settings: ScoreSettings, parts: Sequence[Part], count: int, report: Callable[[int], object]
) -> Iterator[PartResult]:
    made = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=_TRIES - 1)(_Actor)
    pool = [made.remote(settings) for _ in range(count)]
    waiting = deque((part, 1) for part in parts)
    running: dict[Any, tuple[Any, Part, int]] = {}
    try:
        while waiting or running:
            while waiting and pool:
                part, tries = waiting.popleft()
                actor = pool.pop()
                running[actor.score.remote(part)] = (actor, part, tries)
            (ready,), _ = ray.wait(list(running), num_returns=1)
            actor, part, tries = running.pop(ready)
            pool.append(actor)
            try:
                result = ray.get(ready)
            except ray.exceptions.RayError as error:
                if tries < _TRIES:
                    waiting.appendleft((part, tries + 1))
                    continue
                result = PartResult(
                    part.target, error=f"{part.shown}: {_TRIES} actors died: {error}"
                )
            if isinstance(result, OpError):
                raise result
            report(result.rows + result.bad)
            yield result
    finally:
        for actor in [*pool, *(actor for actor, _, _ in running.values())]:
            ray.kill(actor)
