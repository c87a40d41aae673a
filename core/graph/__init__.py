"""The program as data.

`GraphBuilder(name)` adds nodes (`add`, `add_raw`, `add_input`) and finishes into a `Graph`, which
never changes: `inputs` and `outputs` (tuples of `Value`), `input_names`, `output_names`, `nodes`,
`effects` (stateful nodes that must run: `control_ret`). What higher layers derive from a graph (its
plan, its gradients) they keep in a `caches.PerGraph` of their own, whose entries die with the
graph. `Node`: `op` (OpDef), `name`,
`inputs` (flat tuple of Values), `controls` (Nodes), `attrs`, `outputs` (tuple of Values).
`Value`: `node`, `index`, `spec`, `handle` (spec of the variable behind a resource). A graph
input is the output of a `Placeholder` node. `FunctionRef(name, graph)` is the value of a `func`
attribute. Order of effects is control edges, nothing else.
"""
