"""The exported function as a stateless program.

`sources` finds it (`input_shapes` completes its inputs), `states` makes variables that it assigns
inputs and outputs, `freezing` inlines calls and replaces variables by their values,
`tensor_arrays` rewrites TensorFlow 1's arrays as lists. `deadlines` limit how long it may run.
"""
