"""Shell completion: the script names the commands and their options, and one option installs it."""

from __future__ import annotations

import pytest

from larvatus.cli.main import app, main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_completes_commands_and_options(shell):
    script = app.generate_completion(shell=shell)
    for word in ("mask", "publish-noise", "confidential", "sub-groups"):
        assert word in script


def test_it_is_installed_for_the_shell_that_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ZDOTDIR", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert main(["--install-completion", "--shell", "bash"]) == 0
    written = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert any("confidential" in p.read_text() for p in written)
    assert "bash" in capsys.readouterr().out.lower()
