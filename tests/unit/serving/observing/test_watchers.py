"""Observers of completed requests: access log, records, traces."""

import datetime as dt
import json
import logging
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pinnace.framework.errors import NotFoundError, ResourceExhaustedError, UnavailableError
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.http.application import create_app
from pinnace.serving.messages.prediction_log import encode_log, read_logs
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.tables import Which
from pinnace.serving.observing import recording
from pinnace.serving.observing.access_log import AccessLog
from pinnace.serving.observing.background import Background
from pinnace.serving.observing.recording import Recorder
from pinnace.serving.observing.replay import find_records, replay
from pinnace.storage.record import RecordWriter
from unit.serving.memory_server import Server
from unit.serving.numpy_models import every_kind, half_plus_two, write_version


def ask_and_close(
    tmp_path: Path, requests: list[tuple[str, str, dict[str, Any]]], **more: Any
) -> None:
    """Run a client against a server in memory, and then its shutdown."""
    if not (tmp_path / "m").exists():
        write_version(tmp_path / "m", 7)
    settings = Settings(
        models=(ModelConfig("m", str(tmp_path / "m")),), file_system_poll_s=0, **more
    )
    repository = Repository(settings, lambda _: every_kind())
    repository.start()
    server = Server(settings, repository)
    server.ask_all(requests)
    for observer in server.app.state.exchange.observers:
        observer.__self__.close()
    repository.close()


def predict(*values: float, **more: Any) -> tuple[str, str, dict[str, Any]]:
    return ("POST", "/v1/models/m:predict", {"json": {"instances": list(values), **more}})


def test_the_access_log_has_a_line_for_each_request(tmp_path: Path) -> None:
    file = tmp_path / "log"
    ask_and_close(
        tmp_path,
        [
            predict(1, 2),
            predict(1, signature_name="no such"),
            ("POST", "/v1/models/other:predict", {"content": b"{}"}),
            ("GET", "/healthz", {}),
        ],
        access_log=str(file),
    )
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == 4
    good = next(line for line in lines if line.get("code") == "OK")
    assert (good["model"], good["version"], good["api"], good["status"]) == ("m", 7, "predict", 200)
    assert good["bytes_out"] == len(b'{"predictions":[2.5,3.0]}')
    assert good["bytes_in"] > 0
    assert set(good["stages"]) == {"read", "parse", "queue", "run", "write"}
    assert sum(good["stages"].values()) <= good["ms"] * 1e3 * 1.01
    moment = dt.datetime.fromisoformat(good["time"])
    assert abs(moment.timestamp() - time.time()) < 60
    bad = next(line for line in lines if line.get("code") == "INVALID_ARGUMENT")
    assert bad["status"] == 400
    assert "no such" in bad["error"]
    assert next(line for line in lines if line.get("model") == "other")["status"] == 404
    health = next(line for line in lines if "path" in line)
    assert (health["method"], health["path"], health["status"]) == ("GET", "/healthz", 200)


def test_a_log_that_cannot_be_written_fails_the_start(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="cannot be written: No such file or directory"):
        AccessLog(str(tmp_path / "none" / "log"))


def test_records_can_be_replayed(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    ask_and_close(
        tmp_path,
        [
            predict(1, 2),
            predict(3),
            predict(3, signature_name="slow"),
            predict("a", signature_name="text_bytes"),  # type: ignore[arg-type]
            predict(1, signature_name="value_error"),
        ],
        record=str(folder),
    )
    (file,) = find_records([folder])
    logs = list(read_logs(file))
    assert len(logs) == 4
    spec = logs[0].predict_log.request.model_spec
    assert (spec.name, spec.version.value) == ("m", 7)
    assert not list(folder.glob(".*"))

    class Half:
        name = "half"

        def __init__(self, offset: float) -> None:
            self.offset = offset

        def run(self, request: Any) -> Any:
            if request.signature == "text_bytes":
                raise NotFoundError("no such table")
            return half_plus_two(self.offset).run_arrays(request.inputs)

        def close(self) -> None:
            pass

    report = replay([folder], Half(2.0))
    assert (report.requests, report.failures) == (4, {"no such table": 1})
    assert not report.agrees
    assert {c.different for c in report.outputs.values()} == {0}
    other = replay([file], Half(2.5), Half(2.0), limit=2)
    assert other.requests == 2
    (compared,) = other.outputs.values()
    assert (compared.different, compared.largest) == (2, 0.5)
    assert [row[0] for row in other.rows()] == ["output", "serving_default:y"]
    assert other.latency_rows()[1][:2] == ("half", "4")
    with pytest.raises(NotFoundError, match=r"no \*\.tfrecord file"):
        find_records([tmp_path / "m"])


def test_records_take_no_more_space_than_allowed(tmp_path: Path) -> None:
    write_version(tmp_path / "m", 7)
    settings = Settings(models=(ModelConfig("m", str(tmp_path / "m")),), file_system_poll_s=0)
    repository = Repository(settings, lambda _: every_kind())
    repository.start()
    servable = repository.get(Which("m"))
    folder = tmp_path / "records"
    recorder = Recorder(str(folder), 1.0, 80_000)
    arrays = {"x": np.arange(1000, dtype=np.float32)}
    size = len(encode_log(servable, "serving_default", arrays, arrays, 0.0))
    for _ in range(30):
        recorder._consume([(servable, "serving_default", arrays, arrays, 0.0)])
        assert sum(path.stat().st_size for path in folder.iterdir()) <= 80_000 + size
    recorder.close()
    kept = [log for file in find_records([folder]) for log in read_logs(file)]
    assert 4 <= len(kept) < 30
    repository.close()


def test_a_full_disk_disturbs_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise ResourceExhaustedError("No space left on device")

    monkeypatch.setattr(RecordWriter, "write", full)
    folder = tmp_path / "records"
    with caplog.at_level(logging.ERROR):
        ask_and_close(tmp_path, [predict(1)] * 20, record=str(folder))
    assert [r.message for r in caplog.records] == ["record: No space left on device"]
    assert list(folder.iterdir()) == []


def test_what_waits_is_bounded() -> None:
    seen: list[int] = []

    def work(things: list[int]) -> None:
        time.sleep(0.01)
        seen.extend(things)

    background = Background("test", work, most_bytes=1000)
    for i in range(1000):
        background.put(i, 10)
    background.close()
    assert background.dropped == 1000 - len(seen)
    assert 100 <= len(seen) < 1000
    assert seen == sorted(seen)


def test_traces_follow_the_client_and_have_the_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("pinnace.serving.observing.tracing._provider", lambda: provider)
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    method, path, options = predict(1)
    headers = {"traceparent": f"00-{trace}-{parent}-01"}
    monkeypatch.setattr(provider, "shutdown", lambda: None)
    ask_and_close(
        tmp_path,
        [(method, path, {**options, "headers": headers}), predict(1, signature_name="value_error")],
        otel=True,
    )
    spans = exporter.get_finished_spans()
    followed = next(
        s for s in spans if s.parent is not None and s.parent.span_id == int(parent, 16)
    )
    assert followed.context.trace_id == int(trace, 16)
    assert followed.name == "predict m"
    assert followed.attributes["pinnace.version"] == 7
    inside = followed.context.span_id
    stages = [s for s in spans if s.parent is not None and s.parent.span_id == inside]
    assert [s.name for s in stages] == ["read", "parse", "queue", "run", "write"]
    for stage in stages:
        assert followed.start_time <= stage.start_time <= stage.end_time <= followed.end_time + 1000
    failed = next(s for s in spans if s.attributes.get("pinnace.code") == "INTERNAL")
    assert failed.status.status_code.name == "ERROR"


def test_nothing_watches_unless_it_is_asked_for(tmp_path: Path) -> None:
    write_version(tmp_path / "m", 7)
    settings = Settings(models=(ModelConfig("m", str(tmp_path / "m")),))
    app = create_app(settings, Repository(settings))
    assert app.state.exchange.observers == []
    assert app.state.exchange.policies == []


@pytest.mark.parametrize("system", ["posix", "nt"])
def test_files_of_processes_that_are_gone_are_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    """On Windows, signal 0 is Ctrl-C, and open files cannot be removed."""
    gone, own = 2**22 + 1, os.getpid()  # beyond Linux's limit of process numbers
    parts = [tmp_path / f".requests-0-{pid}-1.tfrecord.part" for pid in (gone, own)]
    for part in parts:
        part.write_bytes(b"")
    real, asked = Path.unlink, []

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if system == "nt" and path == parts[1]:
            raise PermissionError(13, "used by another process", str(path))
        real(path, missing_ok)

    def kill(pid: int, number: int) -> None:
        asked.append((pid, number))
        if pid == gone:
            raise ProcessLookupError

    recorder = object.__new__(Recorder)
    recorder._folder = tmp_path
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        patch.setattr(recording, "os", SimpleNamespace(name=system, kill=kill))
        recorder._sweep()
    assert [part.exists() for part in parts] == [False, True]
    assert sorted(asked) == ([] if system == "nt" else sorted([(gone, 0), (own, 0)]))
