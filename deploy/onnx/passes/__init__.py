"""Passes over a graph between its conversion and its file; `pipeline` has the order.

Passes match what operators compute, never names. `activations`, `normalisations` and `attention`
find formulas (`polynomials` parses them), `recurrent` the loops that are LSTM, GRU or RNN (`gates`
and `cells` analyse their bodies, `directions` merges two), `fusion` and `products` adjacent
operators; `replacing` is the traversal that several of them share. `channels` chooses between
channels first and last by a `minimum_cut`; `layout_rules` and `shape_layout_rules` say how each
operator changes. `runtime_faults` works around bugs of ONNX Runtime.
"""
