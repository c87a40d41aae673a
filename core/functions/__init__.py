"""Python functions traced to graphs: `tf.function`, control flow, gradients of graphs.

`pinnace.saved_model.load(path)` returns an object with `.signatures`: name -> `ConcreteFunction`. A
`ConcreteFunction` has `graph`, `captured` (the values of its last graph inputs),
`structured_input_signature` (`((), {name: TensorSpec})` for a signature), `structured_outputs`
(`{name: TensorSpec}`), `__call__(**tensors) -> {name: Tensor}`, and `run_arrays({name: array}) ->
{name: array}`, the path without Tensors that a server uses.
"""
