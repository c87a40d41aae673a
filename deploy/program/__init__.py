"""The exported function as a stateless program, common to all formats.

`sources` finds the function (`input_shapes` completes its inputs, `likely_shapes` guesses shapes of
unknown rank), `states` turns variables that it assigns into inputs and outputs, `freezing` inlines
calls and replaces variables by their values, `tensor_arrays` rewrites TensorArrays as lists.
`mapped_weights` reads weights from the model's files without keeping them in memory. `deadlines`
limits the time of a run.
"""
