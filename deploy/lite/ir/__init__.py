"""A .tflite file in memory: tensors, operators and subgraphs, and the builder of converters."""
