"""Measures of utility loss: one file per measure. Code that several measures share is in the sub-packages."""

from __future__ import annotations

from larvatus.core.discovery import lazy_attributes

__getattr__, __dir__ = lazy_attributes(__name__)
