"""No crash report with the memory of the process, which holds the data and the secret."""

from __future__ import annotations

from contextlib import suppress


def leave_no_core() -> None:
    """Let a crash of this process and of those that it starts write no image of their memory."""
    with suppress(ImportError, OSError, ValueError):  # no such limit on this system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
