"""`python -m larvatus`: the same as the command `larvatus`."""

from __future__ import annotations

from larvatus.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
