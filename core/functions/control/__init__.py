"""Control flow on tensors: branches and loops as functions of the graph, and their gradients."""
