"""Verification of a file, and the runtimes that support it.

`checking` compares ONNX Runtime's outputs with pinnace's on the inputs of `deploy/sampling`,
`compatibility` determines which runtimes support the file, `profiles` refuses the file if a
required one does not.
"""
