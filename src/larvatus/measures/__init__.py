"""Measures of utility loss: one file per measure. Code that several measures share is in the sub-packages."""

from __future__ import annotations

from larvatus.core.discovery import lazily

__getattr__, __dir__ = lazily(__name__)
