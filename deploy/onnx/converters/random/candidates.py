"""Classes drawn to train on."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "draws classes to train on from TensorFlow's Philox generator; a model that answers needs none",
    "AllCandidateSampler",
    "ComputeAccidentalHits",
    "FixedUnigramCandidateSampler",
    "LearnedUnigramCandidateSampler",
    "LogUniformCandidateSampler",
    "ThreadUnsafeUnigramCandidateSampler",
    "UniformCandidateSampler",
)
