"""A .tflite file in memory: tensors, operators, subgraphs, and how converters add to them."""
