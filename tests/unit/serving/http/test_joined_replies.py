"""Requests that run together get the bytes of separate runs, and are counted one by one."""

import asyncio
import gc
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from pinnace.framework.specs import TensorSpec
from pinnace.serving import acceleration
from pinnace.serving.config.batching_config import BatchOptions
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.http.application import create_app
from pinnace.serving.models.loaded_model import LoadedModel
from pinnace.serving.models.repository import Repository
from pinnace.serving.models.tables import Which
from pinnace.serving.observing.metrics import Metrics
from pinnace.serving.requests.exchanging import Exchanging
from pinnace.serving.requests.reply import Reply
from pinnace.serving.requests.request import Request
from pinnace.serving.requests.wires import Wire
from pinnace.serving.running.runs import Run
from unit.serving.numpy_models import NumpyModel, write_version

if TYPE_CHECKING:
    from pinnace.serving.requests.exchange import Exchange


def rowwise(shape: tuple[int, ...], dtype: str, more_outputs: bool = False) -> NumpyModel:
    """A signature with independent rows and outputs of every dtype."""
    spec = TensorSpec([None, *shape], dtype)

    def run(feeds: Any) -> Any:
        x = feeds["x"]
        with np.errstate(all="ignore"):
            y = {"y": (x * x.dtype.type(3) / x).astype(x.dtype) + x}
        return y | ({"z": x > 0} if more_outputs else {})

    outputs = {"y": spec} | ({"z": TensorSpec([None, *shape], "bool")} if more_outputs else {})
    return NumpyModel({"x": spec}, outputs, run, is_pure=True)


MODEL = LoadedModel(
    {
        "serving_default": rowwise((3,), "float32"),
        "scalars": rowwise((), "float32"),
        "cubes": rowwise((2, 1, 2), "float64"),
        "open": rowwise((3,), "float32", more_outputs=True),
    }
)


def predict(*values: Any, name: str = "serving_default", form: str = "instances") -> Any:
    body = json.dumps({"signature_name": name, form: list(values)}).encode()
    return acceleration.predict_wire(), body, {b"content-type": b"application/json"}


def infer(array: npt.NDArray[Any], **more: Any) -> Any:
    described = {
        "name": "x",
        "shape": list(array.shape),
        "datatype": {"float32": "FP32", "float64": "FP64"}[array.dtype.name],
        "parameters": {"binary_data_size": array.nbytes},
    }
    head = json.dumps({"inputs": [described], **more}).encode()
    return (
        acceleration.infer_wire(),
        head + array.tobytes(),
        {b"inference-header-content-length": b"%d" % len(head)},
    )


X = np.float32([[1, 0, -2.5], [float("inf"), 3, float("nan")], [1e-30, 7e9, 0.1]])
BINARY = {"parameters": {"binary_data_output": True}}
CASES: list[Any] = [
    predict([1, 2, 3]),
    predict([1, 2, 3], [0, -1, 0.1]),
    predict([5e-7, 1e30, 1]),
    predict([1, 2, 3], form="inputs"),
    predict([1, 2]),
    predict([1, "x", 3]),
    predict(1, 0, 2.5, name="scalars"),
    predict(7, name="scalars"),
    predict([[[1, 2]], [[3, 0]]], name="cubes"),
    predict([[[5, 6]], [[7, 8]]], [[[1, 1]], [[2, 2]]], name="cubes"),
    predict([1, 2, 3], name="open"),
    infer(X),
    infer(X[:1], **BINARY),
    infer(X[1:], **BINARY),
    infer(X[:1], **BINARY),
    infer(X[:1], id="its own", **BINARY),
    infer(X[:1], outputs=[{"name": "y", "parameters": {"binary_data": True}}]),
    infer(X[:2], outputs=[{"name": "y", "parameters": {"classification": 2}}]),
    infer(X.astype(np.float64)),
    infer(X[:, :2]),
    infer(X, parameters={"signature_name": "open", "binary_data_output": True}),
]


def answer(
    tmp_path: Path, cases: list[Any], *, together: bool, inline_s: float = 10.0
) -> tuple[list[Reply], Metrics]:
    """The replies of requests that arrive in one iteration of the loop, or one after the other."""
    write_version(tmp_path / "m", 1)
    settings = Settings(
        models=(ModelConfig("m", str(tmp_path / "m")),),
        file_system_poll_s=0,
        batching=BatchOptions(max_run_s=10.0) if together else None,
        checks_batches=False,
        inline_run_s=inline_s,
    )
    repository = Repository(settings, lambda _: MODEL)
    repository.start()
    exchange: Exchange = create_app(settings, repository).state.exchange
    found: list[Reply | None] = [None] * len(cases)

    def start(i: int, wire: Wire, body: bytes, headers: Any) -> None:
        def finish(reply: Reply) -> None:
            assert found[i] is None
            found[i] = reply

        exchange.open(Request(wire, Which("m"), headers, "", len(body)), finish).start(body)

    async def run() -> None:
        for i, case in enumerate(cases):
            start(i, *case)
            while not together and found[i] is None:
                await asyncio.sleep(0)
        while None in found:
            await asyncio.sleep(0)

    asyncio.run(run())
    repository.close()
    assert exchange.in_flight == exchange.bytes_in_flight == 0
    return [reply for reply in found if reply is not None], exchange.metrics


@pytest.mark.parametrize("inline_s", [10.0, 0.0], ids=["on the loop", "in threads"])
@pytest.mark.parametrize("order", [1, -1])
def test_requests_that_run_together_get_what_they_would_get_alone(
    tmp_path: Path, order: int, inline_s: float
) -> None:
    cases = CASES[::order] + CASES[:3]
    alone, _ = answer(tmp_path / "alone", cases, together=False)
    joined, metrics = answer(tmp_path / "joined", cases, together=True, inline_s=inline_s)
    for case, one, other in zip(cases, alone, joined, strict=True):
        assert (one.status, one.headers) == (other.status, other.headers), case
        assert one.body == other.body, case
    assert sum(reply.status == 200 for reply in joined) >= 18
    rows = metrics.meter("m", "predict", "REST").batch_rows
    assert rows.cells[-1] > sum(list(rows.cells)[:-1])  # some ran with others


def test_each_request_of_a_run_is_counted(tmp_path: Path) -> None:
    cases = [predict([1, 2, i]) for i in range(40)] + [infer(X[:1], **BINARY)] * 3
    _, metrics = answer(tmp_path, cases, together=True)
    for api, count in (("predict", 40), ("infer", 3)):
        meter = metrics.meter("m", api, "REST")
        assert sum(meter.statuses) == count
        for histogram in (meter.latency, meter.runtime, meter.batch_rows, *meter.stages.values()):
            assert sum(list(histogram.cells)[:-1]) == count
    assert metrics.meter("m", "predict", "REST").batch_rows.cells[-1] == 40 * 43  # one run of all


def test_what_was_answered_is_no_garbage(tmp_path: Path) -> None:
    """A request leaves no garbage in cycles."""
    gc.collect()
    gc.disable()
    try:
        before = Counter(type(thing) for thing in gc.get_objects())  # of other tests' servers
        answer(tmp_path, CASES + [predict([1, 2, i]) for i in range(100)], together=True)
        after = Counter(type(thing) for thing in gc.get_objects())
    finally:
        gc.enable()
    for kind in (Run, Exchanging, Reply):
        assert after[kind] == before[kind]
