"""Masks: one file per mask. Code shared by several masks is in the sub-packages."""

from __future__ import annotations

from larvatus.core.discovery import lazy_attributes

__getattr__, __dir__ = lazy_attributes(__name__)
