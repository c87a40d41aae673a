"""Requests split between versions, and copied to shadows."""

import collections
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from pinnace.framework.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from pinnace.framework.specs import TensorSpec
from pinnace.serving.config.model_config import All, Latest, ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.config.traffic import Shadow, Split, parse_shadow, parse_split
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.tables import Which
from pinnace.serving.models.version_loader import Loader
from pinnace.serving.observing.ledger import Ledger
from pinnace.serving.observing.metrics import Meter, Metrics
from pinnace.serving.observing.shadow_metrics import ShadowMetrics
from pinnace.serving.observing.shadows import difference, mismatch
from unit.serving.memory_server import Server, running
from unit.serving.numpy_models import NumpyModel, half_plus_two, read_version, write_version

M = Which("m")


def settings(base: Path, labels: dict[str, int] | None = None, **more: Any) -> Settings:
    policy = All() if labels else Latest()
    config = ModelConfig("m", str(base), policy, labels or {})
    return Settings(models=(config,), file_system_poll_s=0, **more)


def versions_that_answer(server: Server, count: int, **headers: str) -> collections.Counter[str]:
    asked = {"json": {"instances": [0]}, "headers": headers}
    replies = server.ask_all([("POST", "/v1/models/m:predict", asked)] * count)
    assert {reply.status_code for reply in replies} == {200}
    found = collections.Counter(reply.headers["x-model-version"] for reply in replies)
    for reply in replies:
        assert reply.json() == {"predictions": [float(reply.headers["x-model-version"])]}
    return found


def test_a_model_is_answered_by_weight(tmp_path: Path) -> None:
    for version in (1, 2, 3):
        write_version(tmp_path, version, version)
    weights = (parse_split("m=stable:90,canary:10"),)
    told = settings(tmp_path, {"stable": 1, "canary": 2}, version_weights=weights)
    with running(told, read_version) as server:
        found = versions_that_answer(server, 1000)
        assert set(found) == {"1", "2"}
        assert 40 <= found["2"] <= 180  # 100 +- 6 (8) standard deviations
        # A request that names a version is answered by it.
        for path, version in (("labels/canary", "2"), ("versions/3", "3")):
            body = {"instances": [0]}
            reply = server.ask("POST", f"/v1/models/m/{path}:predict", json=body)
            assert reply.headers["x-model-version"] == version
        reply = server.ask(
            "POST",
            "/v2/models/m/infer",
            json={"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [0]}]},
        )
        assert reply.json()["model_version"] in ("1", "2")


def test_numbers_with_weights_are_loaded_beside_the_newest(tmp_path: Path) -> None:
    for version in (1, 2, 3):
        write_version(tmp_path, version, version)
    told = settings(tmp_path, version_weights=(parse_split("m=1:1,02:1"),))
    with running(told, read_version) as server:
        assert set(versions_that_answer(server, 100)) == {"1", "2"}
        assert server.repository.get(M).version == 3


@pytest.mark.parametrize("header", ["x-request-id", "x-api-key", "authorization"])
def test_who_names_himself_keeps_his_version(tmp_path: Path, header: str) -> None:
    for version in (1, 2):
        write_version(tmp_path, version, version)
    told = settings(tmp_path, version_weights=(parse_split("m=1:50,2:50"),))
    answered: collections.Counter[str] = collections.Counter()
    with running(told, read_version) as server:
        for user in range(60):
            found = versions_that_answer(server, 4, **{header: f"user {user}"})
            assert len(found) == 1
            answered.update(found.keys())
    assert min(answered["1"], answered["2"]) >= 8  # of 30 +- 4 expected


def test_a_version_that_is_not_loaded_gives_its_share_to_the_others(tmp_path: Path) -> None:
    write_version(tmp_path, 1, 1)
    write_version(tmp_path, 2, None)
    told = settings(tmp_path, version_weights=(parse_split("m=1:1,2:99"),))
    with running(told, read_version) as server:
        assert versions_that_answer(server, 50) == {"1": 50}
    told = settings(tmp_path, version_weights=(parse_split("m=2:99"),))
    with running(told, read_version) as server:
        assert versions_that_answer(server, 5) == {"1": 5}


@given(
    st.lists(st.floats(0, 1000), min_size=1, max_size=6).filter(any),
    st.sets(st.integers(0, 5)),
    st.binary(max_size=20),
)
def test_only_a_loaded_version_with_weight_is_chosen(
    weights: list[float], loaded: set[int], name: bytes
) -> None:
    split = Split("m", tuple((str(i), weight) for i, weight in enumerate(weights)))
    able = {str(i) for i, weight in enumerate(weights) if weight and i in loaded}

    def find(target: str) -> str | None:
        return target if int(target) in loaded else None

    chosen = split.choose(find, {b"x-request-id": name})
    assert (chosen in able) if able else (chosen is None)
    if name:
        assert chosen == split.choose(find, {b"x-request-id": name})


def test_a_larger_share_moves_nobody_back() -> None:
    def who(canary: float) -> set[int]:
        split = Split("m", (("2", canary), ("1", 100 - canary)))
        return {i for i in range(2000) if split.choose(str, {b"x-request-id": b"%d" % i}) == "2"}

    small, large = who(10), who(30)
    assert small < large
    assert 130 <= len(small) <= 270  # 200 +- 5 (13) standard deviations
    assert 500 <= len(large) <= 700


@pytest.mark.parametrize(
    "text",
    ["m", "m=", "=1:1", "m=1", "m=1:", "m=1:x", "m=1:-1", "m=1:nan", "m=1:inf", "m=a-b:1", "m=:1"],
)
def test_weights_that_cannot_be_understood_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="--version_weights must be NAME="):
        parse_split(text)


def test_weights_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="'1' is given twice"):
        parse_split("m=1:1,01:2")
    with pytest.raises(InvalidArgumentError, match="one weight must be above 0"):
        parse_split("m=1:0")
    split = parse_split("m=1:1")
    with pytest.raises(InvalidArgumentError, match="of model 'm' are given twice"):
        Settings(version_weights=(split, split))
    with pytest.raises(InvalidArgumentError, match="version 1 of model 'm' is a shadow"):
        Settings(version_weights=(split,), shadows=(Shadow("m", 1, 1.0),))
    with pytest.raises(InvalidArgumentError, match="no model is named 'n'; there are 'm'"):
        settings(tmp_path, version_weights=(parse_split("n=1:1"),)).read_models()
    with pytest.raises(InvalidArgumentError, match="no model is named 'n'; there are 'm'"):
        settings(tmp_path, shadows=(Shadow("n", 1, 1.0),)).read_models()
    with pytest.raises(InvalidArgumentError, match="model 'm' has no label 'canry'"):
        settings(tmp_path, {"canary": 1}, version_weights=(parse_split("m=canry:1"),)).read_models()
    with pytest.raises(InvalidArgumentError, match="label 'a' of model 'm' stands for version 4"):
        settings(
            tmp_path,
            {"a": 4},
            version_weights=(parse_split("m=a:1"),),
            shadows=(Shadow("m", 4, 1.0),),
        ).read_models()


def test_a_shadow_is_a_version_and_a_fraction() -> None:
    assert parse_shadow("a=b=5@0.25") == Shadow("a=b", 5, 0.25)
    assert parse_shadow("m=5") == Shadow("m", 5, 1.0)
    for text in ("m", "m=", "m=5@", "m=5@2", "m=5@-1", "m=5@nan", "m=x@0.1", "=5@0.1"):
        with pytest.raises(InvalidArgumentError, match="--shadow must be NAME=VERSION@FRACTION"):
            parse_shadow(text)


def samples(server: Server, name: str) -> dict[tuple[str, ...], float]:
    """Values of a metric by label values, for the shadows of a model."""
    text = server.ask("GET", "/monitoring/prometheus/metrics").text
    return {
        tuple(v for k, v in sorted(sample.labels.items()) if k != "model_name"): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == f"pinnace:serving:{name}" and "le" not in sample.labels
    }


def shadowed(base: Path, loader: Loader, count: int, fraction: float = 1.0) -> dict[str, float]:
    """The results of copies on shadow 2 of a model whose version 1 answered `count` requests."""
    with running(settings(base, shadows=(Shadow("m", 2, fraction),)), loader) as server:
        for _ in range(count):
            reply = server.predict({"instances": [0, 2]})
            assert reply.status_code == 200
            assert reply.headers["x-model-version"] == "1"
        (observe,) = server.app.state.exchange.observers
        observe.__self__.close()
        found = samples(server, "shadow_count")
        extra = {
            "runs": samples(server, "shadow_latency_count").get(("2",), 0.0),
            **{scale: v for (scale, _), v in samples(server, "shadow_difference_max").items()},
        }
    return {result: n for (result, version), n in found.items() if n and version == "2"} | extra


def two_versions(base: Path, second: float = 1.0) -> Path:
    write_version(base, 1, 1.0)
    write_version(base, 2, second)
    return base


def test_a_shadow_gets_copies_and_never_answers(tmp_path: Path) -> None:
    # Version 1 answers 1 and 2; version 2 half a unit more.
    found = shadowed(two_versions(tmp_path, 1.5), read_version, 20)
    assert found == {"different": 20, "runs": 20, "absolute": 0.5, "relative": 0.25}


def test_the_status_and_the_page_say_how_a_shadow_does(tmp_path: Path) -> None:
    told = settings(two_versions(tmp_path, 1.5), shadows=(Shadow("m", 2, 1.0),))
    with running(told, read_version) as server:
        before = server.ask("GET", "/v1/models/m").json()["model_version_status"]
        assert before[0]["shadow"]["results"] == {}
        assert before[0]["shadow"]["mean_us"] is None
        for _ in range(4):
            server.predict({"instances": [0, 2]})
        (observe,) = server.app.state.exchange.observers
        observe.__self__.close()
        newest, old = server.ask("GET", "/v1/models/m").json()["model_version_status"]
        assert set(old) == {"version", "state", "status"}  # as in TensorFlow Serving
        shadow = newest["shadow"]
        assert shadow.pop("mean_us") > 0
        assert shadow == {
            "fraction": 1.0,
            "results": {"different": 4},
            "absolute_difference": 0.5,
            "relative_difference": 0.25,
        }
        versions = server.ask("GET", "/page/models").json()["models"][0]["versions"]
        assert versions[0]["shadow"]["results"] == {"different": 4}
        assert versions[1]["shadow"] is None


def test_a_shadow_that_agrees_says_so(tmp_path: Path) -> None:
    found = shadowed(two_versions(tmp_path), read_version, 5)
    assert found == {"same": 5, "runs": 5, "absolute": 0.0, "relative": 0.0}


def test_a_shadow_gets_a_part_of_the_requests(tmp_path: Path) -> None:
    found = shadowed(two_versions(tmp_path), read_version, 100, 0.5)
    assert 15 <= found["same"] <= 85
    assert shadowed(tmp_path, read_version, 10, 0.0)["runs"] == 0


def other_second(second: NumpyModel) -> Loader:
    def load(folder: Path) -> LoadedModel:
        if folder.name == "1":
            return read_version(folder)
        return LoadedModel({"serving_default": second})

    return load


def test_a_shadow_that_cannot_be_compared_says_so(tmp_path: Path) -> None:
    x = TensorSpec([None], "float32")
    y = TensorSpec([None], "float64")
    wide = NumpyModel({"x": x}, {"y": y}, lambda f: {"y": f["x"].astype(np.float64)})
    two_versions(tmp_path)
    assert shadowed(tmp_path, other_second(wide), 3)["mismatched"] == 3

    def fail(_: Any) -> Any:
        raise ValueError("no")

    failing = NumpyModel({"x": x}, {"y": x}, fail)
    assert shadowed(tmp_path, other_second(failing), 3)["failed"] == 3
    renamed = NumpyModel({"z": x}, {"y": x}, lambda f: {"y": f["z"]})
    assert shadowed(tmp_path, other_second(renamed), 3)["failed"] == 3


def test_a_shadow_that_does_not_load_disturbs_nobody(tmp_path: Path) -> None:
    write_version(tmp_path, 1, 1.0)
    write_version(tmp_path, 2, None)
    assert shadowed(tmp_path, read_version, 3)["unavailable"] == 3


def test_a_busy_shadow_drops_copies(tmp_path: Path) -> None:
    def wait(feeds: Any) -> Any:
        time.sleep(0.02)
        return half_plus_two(1.0).run_arrays(feeds)

    slow = NumpyModel(half_plus_two().inputs, half_plus_two().outputs, wait)
    two_versions(tmp_path)
    told = settings(tmp_path, shadows=(Shadow("m", 2, 1.0),), batching=None)
    with running(told, other_second(slow)) as server:
        versions_that_answer(server, 300)
        (observe,) = server.app.state.exchange.observers
        observe.__self__.close()
        found = samples(server, "shadow_count")
    assert found["dropped", "2"] >= 50
    assert found["dropped", "2"] + found["same", "2"] == 300


def test_nobody_can_ask_a_shadow(tmp_path: Path) -> None:
    two_versions(tmp_path)
    told = settings(tmp_path, shadows=(Shadow("m", 2, 1.0),))
    models = Repository(told, read_version)
    models.start()
    assert models.route(M, {}).version == 1
    with pytest.raises(FailedPreconditionError, match="Version 2 of model 'm' is a shadow"):
        models.route(Which("m", 2), {})
    models.close()


def test_shadows_alone_are_no_model(tmp_path: Path) -> None:
    write_version(tmp_path, 2, 1.0)
    models = Repository(settings(tmp_path, shadows=(Shadow("m", 2, 1.0),)), read_version)
    with pytest.raises(NotFoundError, match=r"has only shadows, versions \[2\]"):
        models.start()


def test_shadows_of_all_workers_are_counted() -> None:
    ledger = Ledger(2, Meter.CELLS)
    for worker, value in ((0, 3.0), (1, 2.0)):
        ledger.claim(worker)
        meter = ShadowMetrics(ledger).meter("m", 5)
        meter.count("different")
        meter.differ(value, value / 10)
        meter.latency.observe(100.0)
    # The counters of requests must not include the shadow's.
    metrics = Metrics(lambda _: True, ledger)
    metrics.register(ShadowMetrics(ledger))
    found = {
        (
            sample.name.rpartition(":")[2],
            *(v for _, v in sorted(sample.labels.items())),
        ): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
        if "le" not in sample.labels
    }
    assert found["shadow_count", "m", "different", "5"] == 2
    assert found["shadow_difference_max", "m", "absolute", "5"] == 3
    assert found["shadow_difference_count", "m", "relative", "5"] == 2
    assert found["shadow_latency_sum", "m", "5"] == 200
    assert "request_count" not in {name for name, *_ in found}


NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8)


@given(NUMBERS, st.floats(-1e3, 1e3))
def test_the_difference_is_the_largest_one(values: list[float], shift: float) -> None:
    expected = np.array(values)
    moved = expected.copy()
    moved[-1] += shift
    absolute, relative = difference({"y": moved}, {"y": expected})
    assert absolute == abs(moved[-1] - expected[-1])
    scale = float(np.abs(expected).max())
    if scale:
        assert relative == absolute / scale  # infinite for numbers close to 0


def test_differences_of_what_is_not_finite() -> None:
    nan, inf = np.array([np.nan, 1.0]), np.array([np.inf, 1.0])
    assert difference({"y": nan}, {"y": nan}) == (0, 0)
    assert difference({"y": inf}, {"y": inf}) == (0, 0)
    assert difference({"y": inf}, {"y": nan})[0] == np.inf
    assert difference({"y": inf}, {"y": -inf})[0] == np.inf
    assert difference({"y": np.array([b"a"], object)}, {"y": np.array([b"b"], object)}) == (0, 0)
    assert difference({"y": np.array([True])}, {"y": np.array([False])}) == (1, 1)


def test_a_mismatch_names_the_output() -> None:
    one = np.zeros((2, 3), np.float32)
    assert mismatch({"y": one}, {"y": one + 1}) == ""
    assert "['z'] instead of ['y']" in mismatch({"z": one}, {"y": one})
    wanted = "'y' is float32[2, 3] instead of float32[3, 2]"
    assert wanted in mismatch({"y": one}, {"y": one.T})
