"""Sequences of requests: each has its own values of the variables that the model assigns."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.serving.config.model_config import ModelConfig
from pinnace.serving.config.settings import Settings
from pinnace.serving.models.loading import load_model
from pinnace.serving.running import sequences
from unit.serving.memory_server import Server, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

PATH = "/v2/models/m/infer"
LENGTH = "Inference-Header-Content-Length"


class Totals(tf.Module):
    """A model that accumulates requests in variables."""

    def __init__(self) -> None:
        super().__init__()
        self.total = tf.Variable([10.0, 20.0], name="total")
        self.steps = tf.Variable(0, dtype=tf.int64, name="steps")
        self.rows = tf.Variable(np.zeros([0, 2], np.float32), shape=[None, 2], name="rows")
        self.scale = tf.Variable(2.0, name="scale")

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
    def add(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"total": self.total.assign_add(x * self.scale), "turns": self.steps.assign_add(1)}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="place")])
    def pick(self, place: tf.Tensor) -> dict[str, tf.Tensor]:
        """Assign first, then fail for indices out of range."""
        self.total.assign_add([100.0, 100.0])
        with tf.control_dependencies([tf.debugging.assert_less(place, 2)]):
            return {"one": tf.gather(self.total, place)}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def keep(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        """A variable that grows."""
        self.rows.assign(tf.concat([self.rows, x], 0))
        return {"count": tf.shape(self.rows)[0]}

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
    def pure(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * self.scale}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="count")])
    def loop(self, count: tf.Tensor) -> dict[str, tf.Tensor]:
        """Assign inside a loop and a branch."""
        for i in tf.range(count):
            if i % 2 == 0:
                self.total.assign_add(tf.stack([1.0, self.scale]))
        return {"total": self.total + 0.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("totals")
    model = Totals()
    names = ("pick", "keep", "pure", "loop")
    signatures = {"serving_default": model.add, **{name: getattr(model, name) for name in names}}
    tf.saved_model.save(model, str(base / "1"), signatures=signatures)
    return base


def settings_of(folder: Path, **more: Any) -> Settings:
    return Settings(models=(ModelConfig("m", str(folder)),), file_system_poll_s=0, **more)


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    with running(settings_of(folder), load_model) as found:
        yield found


def request(
    name: str, values: Any, kind: str = "FP32", signature: str = "", **marks: Any
) -> dict[str, Any]:
    array = np.asarray(values)
    tensor = {"name": name, "datatype": kind, "shape": list(array.shape)}
    parameters = {**marks, **({"signature_name": signature} if signature else {})}
    return {"inputs": [{**tensor, "data": array.ravel().tolist()}], "parameters": parameters}


def infer(server: Server, *arguments: Any, **more: Any) -> httpx.Response:
    return server.ask("POST", PATH, json=request(*arguments, **more))


def values(reply: httpx.Response) -> list[Any]:
    assert reply.status_code == 200, reply.text
    return [output["data"] for output in reply.json()["outputs"]]


def test_each_sequence_has_its_own_values(server: Server) -> None:
    drawn = np.random.default_rng(0).integers(-9, 9, (3, 8, 2)).astype(np.float32)
    keys: list[int | str] = [1, "1", 2**63 - 1]
    for step in range(8):
        for key, rows in zip(keys, drawn, strict=True):
            # Other requests change the model's own values meanwhile.
            infer(server, "x", [1000.0, 1000.0])
            found = values(infer(server, "x", rows[step], sequence_id=key, sequence_start=not step))
            expected = np.float32([10, 20]) + 2 * rows[: step + 1].sum(0)
            assert found == [expected.tolist(), [step + 1]]
    assert values(infer(server, "x", [0.0, 0.0])) == [[48010.0, 48020.0], [25]]


def test_bytes_say_the_same_as_json(server: Server) -> None:
    for step in range(3):
        data = np.float32([1, 0]).tobytes()
        document = request("x", [1.0, 0.0], sequence_id=5, sequence_start=not step)
        tensor = document["inputs"][0]
        del tensor["data"]
        tensor["parameters"] = {"binary_data_size": len(data)}
        head = json.dumps(document).encode()
        for _ in range(2 if step else 1):  # the same header again
            headers = {LENGTH: str(len(head))}
            reply = server.ask("POST", PATH, content=head + data, headers=headers)
            last = values(reply)
    assert last == [[20.0, 20.0], [5]]


def test_a_sequence_begins_and_ends(server: Server) -> None:
    none = infer(server, "x", [1.0, 1.0], sequence_id=3)
    assert none.status_code == 400
    assert "sequence 3 to model 'm' must specify the START flag" in none.json()["error"]
    one = {"sequence_id": 3, "sequence_start": True, "sequence_end": True}
    for _ in range(2):
        assert values(infer(server, "x", [1.0, 1.0], **one)) == [[12.0, 22.0], [1]]
        assert infer(server, "x", [1.0, 1.0], sequence_id=3).status_code == 400
    for _ in range(2):  # START resets the values
        begun = infer(server, "x", [1.0, 1.0], sequence_id=3, sequence_start=True)
        assert values(begun) == [[12.0, 22.0], [1]]
        assert values(infer(server, "x", [1.0, 1.0], sequence_id=3))[1] == [2]
    assert values(infer(server, "x", [1.0, 1.0], sequence_id=3, sequence_end=True))[1] == [3]
    assert infer(server, "x", [1.0, 1.0], sequence_id=3).status_code == 400


def test_requests_that_come_together_run_in_their_order(server: Server) -> None:
    count = 40
    sent = []
    for step in range(count):
        for key in (1, 2, 3):
            body = request("x", [key, step], sequence_id=key, sequence_start=not step)
            sent.append(("POST", PATH, {"json": body}))
    replies = server.ask_all(sent)
    for key in (1, 2, 3):
        mine = [values(reply) for reply in replies[key - 1 :: 3]]
        assert [steps for _, (steps,) in mine] == list(range(1, count + 1))
        places = np.arange(count)
        totals = np.stack([10 + 2 * key * (places + 1), 20 + 2 * np.cumsum(places)], 1)
        assert [total for total, _ in mine] == totals.tolist()


def test_signatures_of_one_sequence_share_its_values(server: Server) -> None:
    mark = {"sequence_id": "s"}
    values(infer(server, "x", [1.0, 1.0], sequence_start=True, **mark))
    assert values(infer(server, "place", 1, "INT32", "pick", **mark)) == [[122.0]]
    assert values(infer(server, "count", 5, "INT32", "loop", **mark)) == [[115.0, 128.0]]
    assert values(infer(server, "x", [0.0, 0.0], **mark)) == [[115.0, 128.0], [2]]


def test_a_request_that_fails_changes_nothing(server: Server) -> None:
    mark = {"sequence_id": 1}
    values(infer(server, "x", [1.0, 1.0], sequence_start=True, **mark))
    failed = infer(server, "place", 7, "INT32", "pick", **mark)
    assert failed.status_code == 400, failed.text
    assert infer(server, "x", [1.0, 1.0, 1.0], **mark).status_code == 400
    assert values(infer(server, "x", [1.0, 1.0], **mark)) == [[14.0, 24.0], [2]]


def test_a_variable_of_a_sequence_may_grow_so_far(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequences, "_MOST_BYTES", 2000)
    rows = np.ones([100, 2], np.float32)
    mark = {"sequence_id": 1}
    found = [
        infer(server, "x", rows, signature="keep", sequence_start=not step, **mark)
        for step in range(3)
    ]
    assert [reply.status_code for reply in found] == [200, 200, 429], [r.text for r in found]
    assert "the sequence would have" in found[2].json()["error"]
    assert values(infer(server, "x", rows[:1], signature="keep", **mark)) == [[201]]
    full = infer(server, "x", rows, signature="keep", sequence_id=2, sequence_start=True)
    assert full.status_code == 429
    values(infer(server, "x", rows[:1], signature="keep", sequence_end=True, **mark))
    again = infer(server, "x", rows, signature="keep", sequence_id=3, sequence_start=True)
    assert values(again) == [[100]]


def test_there_are_so_many_sequences(folder: Path) -> None:
    with running(settings_of(folder, max_sequences=2), load_model) as server:
        x = ("x", [1.0, 1.0])
        for key in (1, 2):
            assert infer(server, *x, sequence_id=key, sequence_start=True).status_code == 200
        third = infer(server, *x, sequence_id=3, sequence_start=True)
        assert (third.status_code, "2 sequences already" in third.text) == (503, True)
        assert infer(server, *x, sequence_id=2, sequence_start=True).status_code == 200
        assert infer(server, *x, sequence_id=1, sequence_end=True).status_code == 200
        assert infer(server, *x, sequence_id=3, sequence_start=True).status_code == 200


def test_a_sequence_that_nobody_asks_is_forgotten(folder: Path) -> None:
    with running(settings_of(folder, sequence_idle_s=1.0), load_model) as server:
        x = ("x", [1.0, 1.0])
        assert infer(server, *x, sequence_id=1, sequence_start=True).status_code == 200
        assert infer(server, *x, sequence_id=1).status_code == 200
        time.sleep(1.3)
        assert infer(server, *x, sequence_id=1).status_code == 400


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ({"sequence_id": True}, "'sequence_id' must be a number or a string"),
        ({"sequence_id": 1.5}, "'sequence_id' must be a number or a string"),
        ({"sequence_id": "x" * 129}, "at most 128 letters"),
        ({"sequence_id": 1, "sequence_start": 1}, "'sequence_start' must be true or false"),
        ({"sequence_id": 1, "sequence_end": "no"}, "'sequence_end' must be true or false"),
        ({"sequence_start": True}, "non-zero or non-empty correlation ID"),
        ({"sequence_id": "", "sequence_end": True}, "non-zero or non-empty correlation ID"),
        ({"sequence_id": [1]}, "'sequence_id' must be a number or a string"),
    ],
)
def test_marks_of_other_kinds_are_refused(server: Server, marks: Any, said: str) -> None:
    reply = infer(server, "x", [1.0, 1.0], **marks)
    assert (reply.status_code, said in reply.json()["error"]) == (400, True), reply.text


def test_marks_that_say_nothing_are_none(server: Server) -> None:
    for marks in (
        {"sequence_id": 0, "sequence_start": False},
        {"sequence_id": "", "sequence_end": False},
    ):
        assert infer(server, "x", [1.0, 1.0], **marks).status_code == 200


def test_what_keeps_nothing_is_refused_by_name(server: Server, folder: Path) -> None:
    mark = {"sequence_id": 1, "sequence_start": True}
    reply = infer(server, "x", [1.0, 1.0], signature="pure", **mark)
    assert reply.status_code == 501
    assert "'sequence_id' is not supported by model 'm': signature 'pure'" in reply.text
    assert "sequence_batching" in server.ask("GET", "/v2/models/m/config").json()
    assert "sequence" in server.ask("GET", "/v2").json()["extensions"]
    for more in ({"max_sequences": 0}, {"workers": 2}):
        with running(settings_of(folder, **more), load_model) as other:
            reply = infer(other, "x", [1.0, 1.0], **mark)
            assert (reply.status_code, "keeps no sequences" in reply.text) == (501, True)
            assert "sequence" not in other.ask("GET", "/v2").json()["extensions"]
            assert "sequence_batching" not in other.ask("GET", "/v2/models/m/config").json()


def test_what_no_sequence_can_have_for_itself_is_refused(tmp_path: Path) -> None:
    class Words(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seen = tf.lookup.experimental.DenseHashTable(
                tf.int64, tf.int64, default_value=0, empty_key=-1, deleted_key=-2
            )

        @tf.function(input_signature=[tf.TensorSpec([], tf.int64, name="x")])
        def count(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
            self.seen.insert(x, self.seen.lookup(x) + 1)
            return {"n": self.seen.lookup(x)}

    words = Words()
    tf.saved_model.save(words, str(tmp_path / "1"), signatures=words.count)
    with running(settings_of(tmp_path), load_model) as server:
        assert values(infer(server, "x", 5, "INT64")) == [[1]]
        reply = infer(server, "x", 5, "INT64", sequence_id=1, sequence_start=True)
        assert (reply.status_code, "changes more than variables" in reply.text) == (501, True)


def test_a_recurrent_network_goes_on_where_its_sequence_was(tmp_path: Path) -> None:
    tf.random.set_seed(3)
    layers = [tf.keras.Input([None, 3], batch_size=1), tf.keras.layers.LSTM(4, stateful=True)]
    model = tf.keras.Sequential(layers)
    tf.saved_model.save(model, str(tmp_path / "1"))
    kernel, recurrent, bias = (np.float64(w.numpy()) for w in model.layers[-1].cell.weights)

    def by_hand(rows: Any) -> Any:
        h = c = np.zeros(4)
        for row in np.float64(rows):
            i, f, g, o = np.split(row @ kernel + h @ recurrent + bias, 4)
            gate_i, gate_f, gate_o = (1 / (1 + np.exp(-x)) for x in (i, f, o))
            c = gate_f * c + gate_i * np.tanh(g)
            h = gate_o * np.tanh(c)
        return h

    drawn = np.random.default_rng(1).normal(size=(2, 6, 3)).astype(np.float32)
    with running(settings_of(tmp_path), load_model) as server:
        (name,) = [t["name"] for t in server.ask("GET", "/v2/models/m").json()["inputs"]]
        for step in range(0, 6, 2):
            for key, rows in enumerate(drawn, 1):
                part = rows[None, step : step + 2]
                reply = infer(server, name, part, sequence_id=key, sequence_start=not step)
                (found,) = values(reply)
                np.testing.assert_allclose(found, by_hand(rows[: step + 2]), atol=1e-5)
