"""A short part of the fuzzing, and every input that once was a fault: only a LarvatusError may come out, and in time."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

sys.path.append(str(Path(__file__).resolve().parent))

from campaign import CORPUS, decoded
from targets import TARGETS, handle

KEPT = sorted(CORPUS.glob("*/*.json"))
FEW = settings(max_examples=25, database=None, deadline=None, derandomize="LARVATUS_NEW_EXAMPLES" not in os.environ,
               suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("path", KEPT, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_inputs_that_once_were_faults_are_handled(path):
    handle(TARGETS[path.parent.name.replace("_", " ")], decoded(json.loads(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("kind", TARGETS)
def test_damaged_input_is_refused_with_an_own_error(kind):
    FEW(given(TARGETS[kind].inputs)(lambda value: handle(TARGETS[kind], value)))()
