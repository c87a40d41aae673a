"""A runtime for MLServer around ONNX Runtime."""

from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse
from onnx_model import load


class Onnx(MLModel):
    async def load(self):
        self.run = load()
        return True

    async def predict(self, payload):
        found = self.run(NumpyCodec.decode_input(payload.inputs[0]))
        outputs = [NumpyCodec.encode_output("output_0", found)]
        return InferenceResponse(id=payload.id, model_name=self.name, outputs=outputs)
