"""A .tflite file back to ops: what it holds, then each operator as what it computes."""
