"""Verification of a file, and the runtimes that take it.

`checking` compares what ONNX Runtime answers with pinnace's answers to the inputs of
`deploy/sampling`, `compatibility` tells which runtimes take the file, `profiles` refuses it where
one must.
"""
