"""Sends requests with tensorflow-serving-api's own stubs."""

import json
import sys

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

channel = grpc.insecure_channel(sys.argv[1])
stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
X = np.float32([[1, 2], [3, 4]])
answers: dict[str, object] = {}

request = predict_pb2.PredictRequest()
request.model_spec.name = "m"
request.inputs["x"].CopyFrom(tf.make_tensor_proto(X))
response = stub.Predict(request, 10)
answers["predict"] = tf.make_ndarray(response.outputs["y"]).tolist()
answers["floats"] = list(response.outputs["y"].float_val)
answers["version"] = response.model_spec.version.value

request.model_spec.signature_name = "both"
request.ClearField("inputs")
request.inputs["a"].CopyFrom(tf.make_tensor_proto(np.int64([1, 2**40])))
request.inputs["b"].CopyFrom(tf.make_tensor_proto(np.float16([1, 3])))
response = stub.Predict(request, 10)
answers["both"] = [tf.make_ndarray(response.outputs[n]).tolist() for n in ("double", "half")]

examples = []
for row in X:
    example = tf.train.Example()
    example.features.feature["x"].float_list.value.extend(row)
    examples.append(example)
classify = classification_pb2.ClassificationRequest()
classify.model_spec.name, classify.model_spec.signature_name = "m", "classify"
classify.input.example_list.examples.extend(examples)
found = stub.Classify(classify, 10)
answers["classify"] = [
    [(c.label, c.score) for c in row.classes] for row in found.result.classifications
]
regress = regression_pb2.RegressionRequest()
regress.model_spec.name, regress.model_spec.signature_name = "m", "regress"
regress.input.example_list.examples.extend(examples)
values = stub.Regress(regress, 10)
answers["regress"] = [r.value for r in values.result.regressions]
multi = inference_pb2.MultiInferenceRequest(input=classify.input)
multi.tasks.add(model_spec=classify.model_spec, method_name="tensorflow/serving/classify")
multi.tasks.add(model_spec=regress.model_spec, method_name="tensorflow/serving/regress")
both = stub.MultiInference(multi, 10)
answers["multi"] = [
    both.results[0].classification_result == found.result,
    [r.value for r in both.results[1].regression_result.regressions],
]

metadata = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
metadata.model_spec.name = "m"
signatures = get_model_metadata_pb2.SignatureDefMap()
stub.GetModelMetadata(metadata, 10).metadata["signature_def"].Unpack(signatures)
tensor = signatures.signature_def["serving_default"].inputs["x"]
answers["metadata"] = [tensor.dtype, [dim.size for dim in tensor.tensor_shape.dim]]

models = model_service_pb2_grpc.ModelServiceStub(channel)
status = get_model_status_pb2.GetModelStatusRequest()
status.model_spec.name = "m"
rows = models.GetModelStatus(status, 10).model_version_status
answers["status"] = [(row.version, row.state) for row in rows]

request.model_spec.name = "none"
try:
    stub.Predict(request, 10)
except grpc.RpcError as error:
    answers["unknown"] = error.code().name
print(json.dumps(answers))
