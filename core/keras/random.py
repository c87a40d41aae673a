"""What `keras.random` shows."""

from pinnace.keras.seeds import SeedGenerator as SeedGenerator
