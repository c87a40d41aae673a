"""The loop stays awake briefly for a client that sends its next request at once."""

import asyncio
import time

import pytest

from pinnace.serving.fast.lingering import Lingering


class Clock:
    """A clock that advances by 10 µs with each reading."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(time, "perf_counter", self._read)

    def _read(self) -> float:
        self.now += 1e-5
        return self.now


async def turns_awake(lingering: Lingering) -> int:
    """The number of the loop's iterations until it may sleep."""
    turns = 0
    while lingering.is_awake:
        await asyncio.sleep(0)
        turns += 1
    return turns


def test_a_client_that_asks_at_once_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        lingering = Lingering(cores=2)
        clock = Clock(monkeypatch)
        lingering.note_reply(begun=1.0, now=2.0)  # its first request, without a history
        assert not lingering.is_awake
        lingering.note_reply(begun=2.0001, now=3.0)
        assert lingering.is_awake
        clock.now = 3.0
        assert 15 <= await turns_awake(lingering) <= 25  # 200 µs of a clock of 10 µs
        assert clock.now == pytest.approx(3.0002, abs=5e-5)
        lingering.note_reply(begun=3.0001, now=4.0)  # the next one
        assert lingering.is_awake

    asyncio.run(run())


def test_a_client_that_takes_its_time_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        Clock(monkeypatch)
        lingering = Lingering(cores=2)
        for second in range(1, 20):
            lingering.note_reply(begun=second - 0.99, now=second)
            assert not lingering.is_awake

    asyncio.run(run())


def test_with_one_core_nobody_lingers() -> None:
    async def run() -> None:
        lingering = Lingering(cores=1)
        for reply in range(10):
            lingering.note_reply(begun=reply * 1e-4, now=reply * 1e-4 + 5e-5)
        assert not lingering.is_awake

    asyncio.run(run())


def test_one_who_stays_awake_is_scheduled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        clock = Clock(monkeypatch)
        lingering = Lingering(cores=2)
        for reply in range(10):
            lingering.note_reply(begun=reply * 1e-4, now=reply * 1e-4 + 5e-5)
        scheduled = len(asyncio.get_running_loop()._ready)  # type: ignore[attr-defined]
        assert scheduled == 1
        clock.now = 1.0
        await asyncio.sleep(0)
        assert not lingering.is_awake

    asyncio.run(run())
