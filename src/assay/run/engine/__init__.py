"""Engines run a metric over samples, here or elsewhere; scoring decides what to run and remembers it."""

from assay.run.engine.local import LocalEngine
from assay.run.engine.ray import RayEngine

Engine = LocalEngine | RayEngine
