"""Gauges of pending requests, for autoscaling."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, cast

import httpx
from prometheus_client.parser import text_string_to_metric_families

from pinnace.framework.specs import TensorSpec
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.observing.ledger import Ledger
from pinnace.serving.observing.metrics import Meter
from pinnace.serving.observing.pending import PendingRequests
from support.waiting import until_in_loop
from unit.serving.memory_server import running
from unit.serving.numpy_models import NumpyModel, write_version

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.serving.models.repository import Repository
    from pinnace.serving.requests.exchange import Exchange
    from pinnace.serving.running.signatures import Arrays

WAITING, IN_FLIGHT = "pinnace:serving:requests_waiting", "pinnace:serving:requests_in_flight"


def gauges(text: str) -> dict[tuple[str, str], float]:
    """Each gauge of pending requests, by name and model."""
    return {
        (sample.name, sample.labels["model_name"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name in (WAITING, IN_FLIGHT)
    }


def test_what_waits_and_what_runs_is_shown_by_model(tmp_path: Path) -> None:
    write_version(tmp_path / "m", 1)
    write_version(tmp_path / "idle", 1)
    entered, gate = threading.Event(), threading.Event()

    def run(feeds: Arrays) -> Arrays:
        if feeds["x"][0] >= 0:  # except the version's warm-up
            entered.set()
            assert gate.wait(30)
        return {"y": feeds["x"]}

    spec = TensorSpec([None], "float32")
    model = NumpyModel({"x": spec}, {"y": spec}, run)
    models = tuple(ModelConfig(name, str(tmp_path / name)) for name in ("m", "idle"))
    settings = Settings(
        models=models, file_system_poll_s=0, run_threads=1, inline_run_s=0, warmup_iterations=0
    )

    async def test(app: object, exchange: Exchange) -> None:
        transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:

            async def metrics() -> dict[tuple[str, str], float]:
                return gauges((await client.get("/metrics")).text)

            names = ("", "idle", "m")
            assert await metrics() == {(g, name): 0 for g in (WAITING, IN_FLIGHT) for name in names}
            body = {"instances": [1]}
            asked = [
                asyncio.create_task(client.post("/v1/models/m:predict", json=body))
                for _ in range(3)
            ]
            await until_in_loop(lambda: entered.is_set() and exchange.in_flight == 3)
            found: dict[tuple[str, str], float] = {}

            async def settled() -> bool:
                nonlocal found
                found = await metrics()
                return found[WAITING, "m"] == 2

            async with asyncio.timeout(30):
                while not await settled():
                    await asyncio.sleep(0)
            assert found == {
                (WAITING, ""): 0,
                (WAITING, "idle"): 0,
                (WAITING, "m"): 2,
                (IN_FLIGHT, ""): 0,
                (IN_FLIGHT, "idle"): 0,
                (IN_FLIGHT, "m"): 3,
            }
            gate.set()
            assert [reply.status_code for reply in await asyncio.gather(*asked)] == [200] * 3
            assert set((await metrics()).values()) == {0}

    with running(settings, lambda _: LoadedModel({"serving_default": model})) as server:
        try:
            asyncio.run(test(server.app, server.app.state.exchange))
        finally:
            gate.set()


class _Lane:
    def __init__(self, waiting: int, running: int) -> None:
        self.waiting, self.running = waiting, running


class _Servable:
    def __init__(self, name: str, *lanes: _Lane) -> None:
        self.name = name
        self.lanes = dict(enumerate(lanes[:1]))
        self.lanes_of_other_shapes = dict(enumerate(lanes[1:]))


class _Models:
    """The parts of a repository and an exchange that the gauges read."""

    def __init__(self, in_flight: int, *servables: _Servable) -> None:
        self.in_flight = in_flight
        self._servables = servables

    def names(self) -> list[str]:
        return sorted({servable.name for servable in self._servables})

    def servables(self) -> list[_Servable]:
        return list(self._servables)


def pending(models: _Models, ledger: Ledger | None) -> PendingRequests:
    return PendingRequests(cast("Repository", models), cast("Exchange", models), ledger)


def shown(one: PendingRequests) -> dict[tuple[str, str], float]:
    return {
        (sample.name, sample.labels["model_name"]): sample.value
        for family in one.collect()
        for sample in family.samples
        if sample.value
    }


def test_versions_and_signatures_of_a_model_are_one_and_the_rest_has_no_name() -> None:
    first, second = _Servable("a", _Lane(1, 2), _Lane(3, 0)), _Servable("a", _Lane(0, 4))
    models = _Models(15, first, second, _Servable("b", _Lane(0, 1)))
    assert shown(pending(models, None)) == {
        (WAITING, "a"): 4,
        (IN_FLIGHT, "a"): 10,
        (IN_FLIGHT, "b"): 1,
        (IN_FLIGHT, ""): 4,
    }


def test_workers_add_up_and_one_that_is_replaced_has_nothing() -> None:
    ledger = Ledger(2, Meter.CELLS)
    ledger.claim(0)
    first = pending(_Models(5, _Servable("a", _Lane(2, 3))), ledger)
    ledger.claim(1)
    second = pending(_Models(2, _Servable("a", _Lane(0, 2))), ledger)
    assert shown(second) == {(WAITING, "a"): 2, (IN_FLIGHT, "a"): 7}
    assert shown(first) == shown(second)
    ledger.claim(0)
    again = pending(_Models(0, _Servable("a", _Lane(0, 0))), ledger)
    assert shown(again) == {(IN_FLIGHT, "a"): 2}
