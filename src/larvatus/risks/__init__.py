"""Ways an intruder would try: every file one attack. Classes are found by name and imported when asked for."""

from __future__ import annotations

from larvatus.core.discovery import lazily

__getattr__, __dir__ = lazily(__name__)
