"""Passes over a converted subgraph, which fuse and remove operators.

`cleaning` drops operators without users and those that change nothing, `fusing` merges factors,
sums and activations into the operator before them, `padding` and `scaled_inputs` merge zeros,
factors and sums into the operator behind them.
"""
