"""Verification of a file, and the runtimes that take it.

`samples` are inputs, `reference` and `checking` what pinnace and ONNX Runtime make of them,
`compatibility` tells which runtimes take the file, `profiles` refuses it where one must.
"""
