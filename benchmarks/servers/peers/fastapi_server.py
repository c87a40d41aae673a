"""What most people write: a FastAPI route with a pydantic body around ONNX Runtime."""

from fastapi import FastAPI
from onnx_model import load
from pydantic import BaseModel

app = FastAPI()
run = load()


class Body(BaseModel):
    instances: list[list[float]]


@app.post("/predict")
def predict(body: Body):
    return {"predictions": run(body.instances).tolist()}
