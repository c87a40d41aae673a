"""An ONNX graph in memory, and its builder.

`graph` defines values, operators and graphs; converters write them with `builder.GraphBuilder`,
based on `maker`: `inference` and `element_types` infer operators' dtypes and shapes, `arithmetic`
folds those on constants. `complex_pairs` represent complex numbers as two values, `messages` are
the protobuf form, and `size_origins` says which unknown sizes are equal.
"""
