"""Random numbers that a seed tells."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "draws from TensorFlow's Philox generator, for which there is no converter yet",
    "StatelessMultinomial",
    "StatelessRandomBinomial",
    "StatelessRandomGammaV2",
    "StatelessRandomGetAlg",
    "StatelessRandomGetKeyCounter",
    "StatelessRandomGetKeyCounterAlg",
    "StatelessRandomNormal",
    "StatelessRandomNormalV2",
    "StatelessRandomPoisson",
    "StatelessRandomUniform",
    "StatelessRandomUniformFullInt",
    "StatelessRandomUniformFullIntV2",
    "StatelessRandomUniformInt",
    "StatelessRandomUniformIntV2",
    "StatelessRandomUniformV2",
    "StatelessShuffle",
    "StatelessTruncatedNormal",
    "StatelessTruncatedNormalV2",
)
