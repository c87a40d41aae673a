"""Loads, warm-ups, examples and batches in Prometheus, under TensorFlow Serving's names."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from pinnace.framework.specs import TensorSpec
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.observing.ledger import Ledger
from pinnace.serving.observing.load_metrics import LoadMetrics
from pinnace.serving.observing.metrics import Meter, Metrics
from unit.serving.http.test_examples import OUTPUTS, TEXTS, VALUE, classes, lengths
from unit.serving.memory_server import running
from unit.serving.numpy_models import NumpyModel, every_kind, read_version, write_version

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.serving.running.signatures import Arrays

PATH = "/monitoring/prometheus/metrics"
CC = ":tensorflow:cc:saved_model:"
TFS = ":tensorflow:serving:"


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Each sample of a page of metrics, by its name and labels."""
    written = set(re.findall(r"^[^#{ ]+", text, re.MULTILINE))

    def name_of(name: str) -> str:  # the client's parser gives each counter a `_total`
        return name if name in written else name.removesuffix("_total")

    return {
        (name_of(sample.name), tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(text: str, name: str, **labels: str) -> float | None:
    return samples(text).get((name, tuple(sorted(labels.items()))))


def test_loads_and_warm_ups_are_counted_by_path(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    write_version(good, 7)
    write_version(bad, 1)
    models = (ModelConfig("good", str(good)), ModelConfig("bad", f"{bad}/"))
    with running(Settings(models=models, file_system_poll_s=0), read_version) as server:
        write_version(bad, 2, offset=None)
        server.repository.reload()
        text = server.ask("GET", PATH).text
    attempts = f"{CC}load_attempt_count"
    assert value(text, attempts, model_path=f"{good}/7", status="success") == 1
    assert value(text, attempts, model_path=f"{good}/7", status="fail") is None
    assert value(text, attempts, model_path=f"{bad}/2", status="fail") == 1
    latency = value(text, f"{CC}load_latency", model_path=f"{good}/7")
    assert latency is not None
    assert 0 < latency < 60e6
    assert value(text, f"{CC}load_latency", model_path=f"{bad}/2") is None
    warmup = f"{TFS}model_warmup_latency"
    assert value(text, f"{warmup}_count", model_path=f"{good}/7", status="OK") == 1
    # TensorFlow Serving's 33 bounds, from 10 microseconds, each 1.8 times the previous one.
    rows = [dict(labels) for name, labels in samples(text) if name == f"{warmup}_bucket"]
    bounds = sorted({float(row["le"]) for row in rows if row["model_path"] == f"{good}/7"})
    assert len(bounds) == 34
    assert bounds[:2] == [10, 18]
    assert f"# TYPE {warmup} histogram" in text


def test_a_warm_up_that_fails_is_no_load_that_fails(tmp_path: Path) -> None:
    write_version(tmp_path / "m", 1)
    models = (ModelConfig("m", str(tmp_path / "m")),)
    with running(Settings(models=models, file_system_poll_s=0), read_version) as server:
        folder = write_version(tmp_path / "m", 2)
        (folder / "assets.extra").mkdir()
        (folder / "assets.extra/tf_serving_warmup_requests").write_bytes(b"damaged")
        server.repository.reload()
        text = server.ask("GET", PATH).text
    path = f"{tmp_path / 'm'}/2"
    assert value(text, f"{CC}load_attempt_count", model_path=path, status="success") == 1
    assert value(text, f"{CC}load_attempt_count", model_path=path, status="fail") is None
    failed = value(text, f"{TFS}model_warmup_latency_count", model_path=path, status="INTERNAL")
    assert failed == 1


def test_workers_are_added_up_and_one_that_is_replaced_goes_on() -> None:
    ledger = Ledger(2, Meter.CELLS)
    for worker in (0, 1, 1):
        ledger.claim(worker)
        loads = LoadMetrics(ledger)
        loads.count_load("/m/1", 0.5, is_good=True)
        loads.count_warmup("/m/1", 0.001, is_good=True)
    loads.count_load("/m/2", 0.5, is_good=False)
    metrics = Metrics(lambda _: True, ledger)
    metrics.register(loads)  # type: ignore[arg-type]  # what prometheus_client asks is `collect`
    text = metrics.text().decode()
    attempts = f"{CC}load_attempt_count"
    assert value(text, attempts, model_path="/m/1", status="success") == 3
    assert value(text, attempts, model_path="/m/2", status="fail") == 1
    assert value(text, f"{CC}load_latency", model_path="/m/1") == 1.5e6
    warmup = f"{TFS}model_warmup_latency"
    assert value(text, f"{warmup}_count", model_path="/m/1", status="OK") == 3
    assert value(text, f"{warmup}_sum", model_path="/m/1", status="OK") == 3000
    assert value(text, f"{warmup}_bucket", model_path="/m/1", status="OK", le="10.0") == 0


def test_paths_that_never_end_are_one() -> None:
    ledger = Ledger(1, Meter.CELLS)
    for loads in (LoadMetrics(), LoadMetrics(ledger)):
        for version in range(200):
            loads.count_load(f"/m/{version}", 0.1, is_good=True)
        metrics = Metrics(lambda _: True)
        metrics.register(loads)  # type: ignore[arg-type]
        found = samples(metrics.text().decode())
        counts = [v for (name, _), v in found.items() if name == f"{CC}load_attempt_count"]
        assert sum(counts) == 200
        assert len(counts) == 65
    assert ledger.add(("m", "predict", "REST")) is not None  # there is room for requests


def test_loads_in_several_threads_lose_nothing() -> None:
    loads = LoadMetrics()

    def work() -> None:
        for _ in range(500):
            loads.count_load("/m/1", 1e-6, is_good=True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    metrics = Metrics(lambda _: True)
    metrics.register(loads)  # type: ignore[arg-type]
    text = metrics.text().decode()
    attempts = value(text, f"{CC}load_attempt_count", model_path="/m/1", status="success")
    assert attempts == 2000


def test_examples_of_classify_and_regress_are_counted(tmp_path: Path) -> None:
    write_version(tmp_path / "m", 7)

    def load(_: Path) -> LoadedModel:
        extra = {
            "classes": NumpyModel(TEXTS, OUTPUTS, classes),
            "value": NumpyModel(TEXTS, VALUE, lambda g: {"outputs": lengths(g)}),
        }
        return LoadedModel({**every_kind().signatures, **extra})

    models = (ModelConfig("m", str(tmp_path / "m")),)
    with running(Settings(models=models, file_system_poll_s=0), load) as server:
        for verb, signature, count in (("classify", "classes", 3), ("regress", "value", 1)):
            body = {"signature_name": signature, "examples": [{"x": 0.5}] * count}
            reply = server.ask("POST", f"/v1/models/m:{verb}", json=body)
            assert reply.status_code == 200
        server.predict({"instances": [1, 2]})
        text = server.ask("GET", PATH).text
    counts = f"{TFS}request_example_counts"
    assert value(text, f"{counts}_count", model="m") == 2
    assert value(text, f"{counts}_sum", model="m") == 4
    assert value(text, f"{counts}_bucket", model="m", le="1.0") == 1
    assert value(text, f"{counts}_bucket", model="m", le="16384.0") == 2
    assert value(text, f"{TFS}request_example_count_total", model="m") == 4


def test_runs_and_waits_are_counted(tmp_path: Path) -> None:
    """The counts are those of the model's actual runs."""
    write_version(tmp_path / "m", 7)
    sizes: list[int] = []
    spec = TensorSpec([None], "float32")

    def run(feeds: Arrays) -> Arrays:
        sizes.append(len(feeds["x"]))
        return {"y": feeds["x"]}

    model = LoadedModel(
        {"serving_default": NumpyModel({"x": spec}, {"y": spec}, run, is_pure=True)}
    )
    models = (ModelConfig("m", str(tmp_path / "m")),)
    settings = Settings(
        models=models, file_system_poll_s=0, warmup_iterations=0, checks_batches=False
    )
    with running(settings, lambda _: model) as server:
        server.predict({"instances": [1]})
        asked = ("POST", "/v1/models/m:predict", {"json": {"instances": [1, 2]}})
        server.ask_all([asked] * 20)
        text = server.ask("GET", PATH).text
    assert value(text, f"{TFS}batching_session:wrapped_run_count") == len(sizes)
    assert sum(sizes) == 41
    waits = f"{TFS}batching_session:queuing_latency"
    assert value(text, f"{waits}_count", thread_pool_name="batch_threads") == 21
    assert value(text, f"{TFS}model_warmup_latency_count", model_path="x", status="OK") is None
