"""StableHLO: the modules that JAX's exports hold in ops `XlaCallModule`, translated to graphs.

`module.decode_module` reads the portable format (MLIR bytecode of the dialect VHLO); `lowering`
translates it to a graph when a function that contains it is decoded, so that engine, gradients,
ONNX and server only see ordinary nodes.
"""
