"""On the command line, messages speak of options; with a study file, of its settings."""

from __future__ import annotations

import pandas as pd
import pytest

from larvatus.cli.main import main
from larvatus.cli.output.option_words import in_option_words
from larvatus.core.errors import SubGroupError
from larvatus.data.sub_groups import Groups, settle

MASK = ["mask", "in.csv", "-o", "out.csv", "--confidential", "x", "--method", "additive_noise"]


@pytest.mark.parametrize(("message", "said"), [
    ('Pool them (small = "pool"), or drop one.', "Pool them (--small pool), or drop one."),
    ("sub_groups.smallest: 3 of 4", "--smallest: 3 of 4"),
    ("Declare it categorical (roles.nominal).", "Declare it categorical (--nominal)."),
    ("Declare one (roles.record_id).", "Declare one (--record-id)."),
    ("constraints.rules: rule 'a <= b'", "--constraint: rule 'a <= b'"),
    ('Use repair = "nearest".', "Use --repair nearest."),
    ("Allow more (memory = …), or", "Allow more (--memory), or"),
])
def test_settings_become_options(message, said):
    assert in_option_words(message, MASK) == said
    assert in_option_words(message, ["run", "study.toml"]) == message
    assert in_option_words(message, [*MASK, "--study", "s.toml"]) == message
    assert in_option_words(message, [*MASK, "--study=s.toml"]) == message


def test_small_sub_groups_on_the_command_line(tmp_path, monkeypatch, capsys):
    pd.DataFrame({"x": [1.0, 2, 3, 4, 5], "region": list("aaaab")}).to_csv(tmp_path / "in.csv", index=False)
    monkeypatch.chdir(tmp_path)
    assert main([*MASK, "--sub-groups", "region"]) == 2
    said = capsys.readouterr().err
    assert "Pool them (--small pool), suppress their records (--small suppress)" in said
    with pytest.raises(SubGroupError, match=r'small = "pool"'):
        settle(Groups(("region",), (("a",), ("b",)), (4, 1)), [[4], [1]], 2, "refuse", "mask")
