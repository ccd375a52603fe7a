"""Attacks on a release: one file per attack. Code that several attacks share is in the sub-packages."""

from __future__ import annotations

from larvatus.core.discovery import lazy_attributes

__getattr__, __dir__ = lazy_attributes(__name__)
