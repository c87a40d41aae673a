"""Reads .tflite files: first their contents as data, then each operator as ops of TensorFlow."""
