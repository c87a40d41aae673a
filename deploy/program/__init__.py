"""The exported function as a stateless program, for every format that is written.

`sources` finds it (`input_shapes` completes its inputs, `likely_shapes` tells what an unknown rank
can be), `states` makes variables that it assigns inputs and outputs, `freezing` inlines calls and
replaces variables by their values, `tensor_arrays` rewrites TensorFlow 1's arrays as lists.
`mapped_weights` reads weights from the model's files without keeping them in memory. `deadlines`
limit how long it may run.
"""
