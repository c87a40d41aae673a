"""A BentoML service around ONNX Runtime."""

from __future__ import annotations

import typing

import bentoml
import numpy as np
from bentoml.validators import DType
from onnx_model import load


@bentoml.service(workers=1, traffic={"timeout": 30})
class Perceptron:
    def __init__(self):
        self.run = load()

    @bentoml.api
    def predict(self, instances: typing.Annotated[np.ndarray, DType("float32")]) -> np.ndarray:
        return self.run(instances)
