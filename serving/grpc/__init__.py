"""The gRPC front: TensorFlow Serving's services and the Open Inference Protocol's."""
