"""Masks: one file per mask. Code shared by several masks is in the sub-packages."""

from __future__ import annotations

from larvatus.core.discovery import lazily

__getattr__, __dir__ = lazily(__name__)
