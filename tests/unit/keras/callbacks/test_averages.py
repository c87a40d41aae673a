"""SwapEMAWeights: where the averages are the weights; RemoteMonitor: what a server is sent."""

import json
import threading
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pytest

import pinnace as tf

keras = tf.keras
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 3)).astype(np.float32)
Y = RNG.normal(size=(8, 1)).astype(np.float32)


def model(**options: Any) -> Any:
    made = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")]
    )
    made.compile(keras.optimizers.SGD(0.1, **options), "mse")
    return made


class Noting(keras.callbacks.Callback):
    """The weights at the ends of epochs and in tests."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: list[Any] = []
        self.tests: list[Any] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        del epoch, logs
        self.epochs.append(self.model.get_weights()[0])

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        del batch, logs
        self.tests.append(self.model.get_weights()[0])


def expected(epochs: int) -> tuple[list[Any], list[Any]]:
    """The weights and their averages after each epoch of one step, in float64."""
    w, average = np.ones((3, 1)), np.ones((3, 1))
    weights, averages = [], []
    for step in range(epochs):
        w = w - 0.1 * 2 / 8 * X.T.astype(np.float64) @ (X @ w - Y)
        share = 0.5 if step else 0.0
        average = average * share + w * (1 - share)
        weights.append(w)
        averages.append(average)
    return weights, averages


@pytest.mark.parametrize("swap_on_epoch", [False, True])
def test_tests_see_the_averages_and_training_the_weights(swap_on_epoch: bool) -> None:
    made, noting = model(use_ema=True, ema_momentum=0.5), Noting()
    made.fit(
        X,
        Y,
        batch_size=8,
        epochs=3,
        shuffle=False,
        verbose=0,
        validation_data=(X, Y),
        validation_batch_size=8,
        callbacks=[keras.callbacks.SwapEMAWeights(swap_on_epoch), noting],
    )
    weights, averages = expected(3)
    np.testing.assert_allclose(noting.tests, averages, rtol=1e-5)
    np.testing.assert_allclose(noting.epochs, averages if swap_on_epoch else weights, rtol=1e-5)
    # At the end the averages are the weights, as without the callback.
    np.testing.assert_allclose(made.get_weights()[0], averages[-1], rtol=1e-5)


def test_predictions_are_made_with_the_averages() -> None:
    made = model(use_ema=True, ema_momentum=0.5)
    for _ in range(2):
        made.train_on_batch(X, Y)
    weights, averages = expected(2)
    swap = keras.callbacks.SwapEMAWeights()
    found = made.predict(X, verbose=0, callbacks=[swap])
    np.testing.assert_allclose(found, X @ averages[-1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(made.get_weights()[0], weights[-1], rtol=1e-5)


def test_an_optimizer_without_averages_is_refused() -> None:
    with pytest.raises(ValueError, match="`use_ema=True` is set on the optimizer"):
        model().evaluate(X, Y, verbose=0, callbacks=[keras.callbacks.SwapEMAWeights()])


@pytest.fixture
def server() -> Iterator[tuple[str, list[Any]]]:
    """An address, and what was sent to it: path, content type, a header, body."""
    sent: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            sent.append((self.path, self.headers["Content-Type"], self.headers["X-Mine"], body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            del args

    made = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}", sent
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.mark.parametrize("as_json", [False, True])
def test_a_server_is_sent_the_logs_of_each_epoch(
    server: tuple[str, list[Any]], as_json: bool
) -> None:
    root, sent = server
    monitor = keras.callbacks.RemoteMonitor(
        root, path="/end", field="logs", headers={"X-Mine": "yes"}, send_as_json=as_json
    )
    history = model().fit(X, Y, epochs=2, verbose=0, callbacks=[monitor]).history
    bodies = [b if as_json else urllib.parse.parse_qs(b)["logs"][0] for *_, b in sent]
    assert [json.loads(body) for body in bodies] == [
        {"epoch": epoch, "loss": loss} for epoch, loss in enumerate(history["loss"])
    ]
    kind = "application/json" if as_json else "application/x-www-form-urlencoded"
    assert {tuple(told[:3]) for told in sent} == {("/end", kind, "yes")}


def test_a_server_that_is_not_there_is_warned_of(server: tuple[str, list[Any]]) -> None:
    root, _ = server
    monitor = keras.callbacks.RemoteMonitor("http://127.0.0.1:1")
    with pytest.warns(UserWarning, match="Could not reach RemoteMonitor root server at http"):
        monitor.on_epoch_end(0, {"loss": 1.0})
    with pytest.raises(ValueError, match="must begin with http"):
        keras.callbacks.RemoteMonitor(root.removeprefix("http:"))
