"""What is to be exported, as a program without state.

`sources` finds it (`input_shapes` completes its inputs), `states` makes variables that it assigns
inputs and outputs, `freezing` inlines calls and replaces variables by their values,
`tensor_arrays` turns TensorFlow 1's arrays into lists. `deadlines` limit how long it may run.
"""
