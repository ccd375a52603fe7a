"""What an intruder would try: one file, one attack. What several attacks share is in the sub-packages."""

from __future__ import annotations

from larvatus.core.discovery import lazily

__getattr__, __dir__ = lazily(__name__)
