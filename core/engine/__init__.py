"""A graph made runnable."""

from pinnace.engine.build import build as build
from pinnace.engine.build import plan_of as plan_of
