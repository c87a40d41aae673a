"""Python functions traced to graphs: `tf.function`, control flow, gradients of graphs."""
