"""Networks that scale pixels themselves: their scales are in SavedModels and ONNX files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from support.fresh_process import exchange_arrays

if TYPE_CHECKING:
    from pathlib import Path

NETWORKS = ["EfficientNetV2B0", pytest.param("EfficientNetB0", marks=[pytest.mark.slow])]
X = np.random.default_rng(0).uniform(0, 255, (2, 32, 32, 3)).astype(np.float32)


@pytest.fixture(scope="module", params=NETWORKS)
def network(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """A SavedModel of a network with random weights, and the network's outputs.

    EfficientNetV2 divides by a constant, EfficientNet by a weight, whose first value is 1.
    """
    tf.keras.utils.set_random_seed(3)
    make = getattr(tf.keras.applications, request.param)
    model = make(
        weights=None, input_shape=(32, 32, 3), classes=5, classifier_activation=None, name="net"
    )
    scaling = next(one for one in model.layers if type(one).__name__ == "Normalization")
    if scaling.weights:
        scaling.set_weights([np.array([0.4, 0.5, 0.6]), np.array([0.1, 0.2, 0.3]), np.array(9)])
    folder = tmp_path_factory.mktemp("networks") / "1"
    tf.saved_model.save(model, folder)
    expected = model.predict(X, verbose=0)
    # Outputs depend on the scale of the pixels: they change with it.
    assert np.abs(model.predict(X / 2, verbose=0) - expected).max() > 0.01 * np.abs(expected).max()
    return folder, expected


def test_a_saved_network_scales_in_a_fresh_process(network: tuple[Path, np.ndarray]) -> None:
    folder, expected = network
    outputs = exchange_arrays(
        f"""
import pinnace as tf
signature = tf.saved_model.load({str(folder)!r}).signatures["serving_default"]
(name,) = signature.structured_input_signature[1]
(outputs["y"],) = [t.numpy() for t in signature(**{{name: tf.constant(inputs["x"])}}).values()]
""",
        {"x": X},
    )
    largest = np.abs(expected).max()
    np.testing.assert_allclose(outputs["y"], expected, rtol=0, atol=1e-5 * largest)


def test_an_onnx_file_of_it_scales(network: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    folder, expected = network
    tf.deploy.onnx.export(folder, tmp_path / "net.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    (found,) = session.run(None, {session.get_inputs()[0].name: X})
    largest = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * largest)
