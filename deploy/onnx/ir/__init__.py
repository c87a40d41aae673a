"""An ONNX graph in memory, and how one is built.

`graph` has its values, operators and graphs; `builder.GraphBuilder` is what converters write with,
`maker` what it stands on: `inference` and `element_types` give operators their dtypes and shapes,
`arithmetic` computes those on constants. `complex_pairs` are complex numbers as two values,
`messages` the protobuf form, and `size_origins` tells which unknown sizes are equal.
"""
