"""Control flow on tensors: functions of the graph as branches and loops, and their gradients."""
