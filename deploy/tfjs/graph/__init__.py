"""A program in the ops that TensorFlow.js has: `lowering` by the `rules`, `folding`, `lists`."""
