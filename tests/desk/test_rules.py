"""Each rule of the desk's safety is removed from a copy of the code, and its test must notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from desk.safety_rules import RULES, TESTS, Rule, run_without


def test_every_rule_is_in_the_code_and_has_a_test():
    for rule in RULES:
        assert rule.source().count(rule.code) == 1, rule.name
        assert rule.without != rule.code, rule.name
        file, _, test = rule.test.partition("::")
        assert f"def {test}(" in (TESTS / file).read_text(encoding="utf-8"), rule.name
    assert len({r.name for r in RULES}) == len(RULES)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_without_the_rule_its_test_fails(rule: Rule, tmp_path: Path):
    done = run_without(rule, tmp_path, f"tests/desk/{rule.test}")
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr[-2000:]
    assert "FAILED tests" in done.stdout, "the test itself fails, not what it needs"
    assert "ERROR tests" not in done.stdout
