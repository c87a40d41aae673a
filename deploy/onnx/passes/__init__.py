"""What is done to a graph between its conversion and its file; `pipeline` has the order.

Passes go by what operators compute, never by names. `activations`, `normalisations` and `attention`
find formulas (`polynomials` reads them), `recurrent` the loops that are LSTM, GRU or RNN (`gates`
and `cells` read their bodies, `directions` joins two), `fusion` and `products` neighbours;
`replacing` is the walk that several of them share.
`channels` chooses between channels first and last by a `minimum_cut`; what each operator does
then stands in `layout_rules` and `shape_layout_rules`. `runtime_faults` avoids ONNX Runtime's.
"""
