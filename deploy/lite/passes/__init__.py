"""Fusions of several operators, found after each was written by itself.

`cleaning` drops what nothing takes and what changes nothing, `fusing` moves factors, sums and
activations into the operator before them, `padding` and `scaled_inputs` zeros, factors and sums
into the one behind them.
"""
