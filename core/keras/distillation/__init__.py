"""`keras.distillation`: a small model learns what a large one gives."""

from pinnace.keras.distillation.distillation_losses import DistillationLoss as DistillationLoss
from pinnace.keras.distillation.distillation_losses import (
    FeatureDistillation as FeatureDistillation,
)
from pinnace.keras.distillation.distillation_losses import (
    LogitsDistillation as LogitsDistillation,
)
from pinnace.keras.distillation.distiller import Distiller as Distiller
