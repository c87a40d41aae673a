"""The written model in TensorFlow.js itself, in Node: `node` runs it, `comparing` looks at it."""
