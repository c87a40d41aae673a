"""Random numbers."""

from pinnace.deploy.onnx.registry import refuses

refuses(
    "draws other numbers in every run from the operating system or a state; an ONNX "
    "model has neither",
    "Multinomial",
    "NonDeterministicInts",
    "ParameterizedTruncatedNormal",
    "RandomGamma",
    "RandomPoissonV2",
    "RandomShuffle",
    "RandomStandardNormal",
    "RandomUniform",
    "RandomUniformInt",
    "RngReadAndSkip",
    "RngSkip",
    "StatefulStandardNormalV2",
    "StatefulTruncatedNormal",
    "StatefulRandomBinomial",
    "StatefulUniform",
    "StatefulUniformFullInt",
    "StatefulUniformInt",
    "TruncatedNormal",
)
