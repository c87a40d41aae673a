"""Large outputs, written outside the message, equal those in a message."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pinnace.graph.codec.tensors import decode_tensor, encode_tensor, list_tensor
from pinnace.proto.predict_pb2 import PredictResponse
from pinnace.serving.messages import prediction
from pinnace.serving.requests.datatypes import SLICE

SERVABLE: Any = SimpleNamespace(name="m", version=3)


@pytest.mark.parametrize("as_content", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(SLICE,), (SLICE + 1,), (200, 300), (2, 300, 100)])
def test_an_entry_beside_the_message_is_the_messages_own(
    dtype: str, shape: tuple[int, ...], as_content: bool
) -> None:
    array = (np.random.default_rng(0).random(shape) * 100).astype(dtype)
    for laid_out in (array, np.asfortranarray(array), array[::-1]):
        outputs: dict[str, Any] = {"large": laid_out, "small": np.float32([1, 2])}
        write = prediction._Predicted(SERVABLE, "serving_default", [*outputs], as_content)
        found = PredictResponse.FromString(bytes(write(outputs).body))
        assert (found.model_spec.name, found.model_spec.version.value) == ("m", 3)
        assert set(found.outputs) == {"large", "small"}
        assert found.outputs["large"] == (encode_tensor if as_content else list_tensor)(laid_out)
        np.testing.assert_array_equal(decode_tensor(found.outputs["large"]), laid_out)
