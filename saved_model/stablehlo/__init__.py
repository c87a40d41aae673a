"""StableHLO: what JAX's exports hold in an op `XlaCallModule`, made a graph of this library's ops.

`module.decode_module` reads the portable form (MLIR bytecode of the dialect VHLO); `lowering` makes
a graph of it when a function that holds one is decoded, so that engine, gradients, ONNX and server
see ordinary nodes alone.
"""
