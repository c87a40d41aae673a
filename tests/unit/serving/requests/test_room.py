"""Memory for decoding requests is reserved before it begins."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pinnace.engine import allocation
from pinnace.engine.allocation import Limits
from pinnace.framework.errors import UnavailableError
from pinnace.framework.specs import TensorSpec
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.requests import room as room_module
from pinnace.serving.requests.room import FEW_BYTES, Room, reading_bytes, writing_bytes
from unit.serving.memory_server import running
from unit.serving.numpy_models import NumpyModel, write_version

MEGABYTE = 2**20


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], Room]:
    """Create the room of a process with a limit of 100 MB, some of which is in use."""

    def make(resident: int, held: int = 0) -> Room:
        monkeypatch.setattr(allocation, "resident", lambda: resident * MEGABYTE)
        monkeypatch.setattr(allocation, "_held", lambda: held * MEGABYTE)
        monkeypatch.setattr(room_module, "memory_limit", lambda: 100 * MEGABYTE)
        monkeypatch.setattr(room_module, "data_limit", lambda: 100 * MEGABYTE if held else 0)
        return Room()

    return make


def test_what_is_promised_to_one_is_not_there_for_another(made: Callable[..., Room]) -> None:
    room = made(20)
    with room.kept(50 * MEGABYTE):
        with (
            pytest.raises(UnavailableError, match="a request needs 31457280 bytes"),
            room.kept(30 * MEGABYTE),
        ):
            raise AssertionError
        with room.kept(20 * MEGABYTE), room.kept(FEW_BYTES):
            pass
    with room.kept(70 * MEGABYTE):
        pass


def test_an_error_inside_gives_the_promise_back(made: Callable[..., Room]) -> None:
    room = made(20)
    for _ in range(3):
        with pytest.raises(ValueError, match="mine"), room.kept(60 * MEGABYTE):
            raise ValueError("mine")


@pytest.mark.parametrize(("resident", "held", "is_full"), [(80, 0, 0), (92, 0, 1), (20, 82, 1)])
def test_large_requests_are_refused_before_memory_ends(
    made: Callable[..., Room], resident: int, held: int, is_full: int
) -> None:
    room = made(resident, held)
    assert room.is_full() == bool(is_full)
    if is_full:
        with pytest.raises(UnavailableError, match="no memory left"):
            room.check()
    else:
        room.check()


def test_where_nobody_says_what_there_is_all_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "memory_limit", lambda: 0)
    monkeypatch.setattr(room_module, "data_limit", lambda: 0)
    room = Room()
    assert not room.is_full()
    with room.kept(2**50):
        pass


def test_free_parts_of_the_heap_may_be_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "_taken", lambda: 90)
    monkeypatch.setattr(allocation, "_free_in_heap", lambda: 50)
    assert not Limits(data_bytes=100).have_room(20)
    assert Limits(data_bytes=100, counts_free=False).have_room(20)
    assert not Limits(data_bytes=100, counts_free=False).have_room(70)


def test_text_takes_more_than_messages_and_numbers_more_as_text() -> None:
    assert reading_bytes(10, "REST") > reading_bytes(10, "GRPC") > 10
    assert writing_bytes({"y": np.zeros((3, 4)), "z": np.zeros(())}) == 13 * 24
    texts = np.array([b"x" * 10**6, "y" * 10**6, b""], object)
    assert writing_bytes({"y": texts, "z": np.zeros(())}) == 4 * 24 + 2 * 2 * 10**6


def test_a_server_without_memory_refuses_what_is_large_and_answers_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = TensorSpec([None], "float32")
    model = NumpyModel({"x": spec}, {"y": spec}, lambda f: {"y": f["x"] * 2}, is_pure=True)
    write_version(tmp_path / "m", 1)
    settings = Settings(models=(ModelConfig("m", str(tmp_path / "m")),), file_system_poll_s=0)
    large = json.dumps({"instances": [0.25] * 300_000}).encode()
    with running(settings, lambda _: LoadedModel({"serving_default": model})) as server:
        room = server.app.state.exchange.room
        assert server.predict(large).json()["predictions"][-1] == 0.5
        with monkeypatch.context() as full:
            # Its limit is so low that decoding the body would exceed it.
            full.setattr(room, "_limits", Limits(allocation.resident() + MEGABYTE))
            full.setattr(room, "_is_full", False)  # as after the context
            # Memory that earlier tests freed would be returned to the system, and be enough.
            full.setattr(room_module, "give_back", lambda: False)
            reply = server.predict(large)
            assert (reply.status_code, "Retry-After" in reply.headers) == (503, True)
            assert "try again later" in reply.json()["error"]
            assert server.predict({"instances": [1.0, 2.0]}).json() == {"predictions": [2.0, 4.0]}
        assert server.predict(large).status_code == 200
        assert server.app.state.exchange.bytes_in_flight == 0
