"""LitServe with one worker, as its guide has it."""

import os

import litserve
from onnx_model import load


class Api(litserve.LitAPI):
    def setup(self, device):
        self.run = load()

    def decode_request(self, request):
        return request["instances"]

    def predict(self, x):
        return self.run(x)

    def encode_response(self, output):
        return {"predictions": output.tolist()}


if __name__ == "__main__":
    server = litserve.LitServer(Api(), accelerator="cpu", workers_per_device=1)
    server.run(
        host="127.0.0.1",
        port=int(os.environ["PORT"]),
        generate_client_file=False,
        log_level="error",
        num_api_servers=1,
    )
