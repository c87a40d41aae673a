"""Runs of the written model in TensorFlow.js itself: `node` runs it, `comparing` compares."""
