"""Every file operation of every command, with every fault: the campaign behind the table of docs/reliability.md.

About forty minutes of processor time, so `make check` runs it, and each command is given to the workers on its own.
"""

from __future__ import annotations

from itertools import product

import pytest
from fault_campaign import ENGINES, SAIL, SCENARIOS, SPARK_MODULES, UNREACHED, Trial, a_server
from injector import FAULTS

from catalogue import SAIL_IS_HERE

CASES = [*product(SCENARIOS, ENGINES), *((name, SAIL) for name in ("mask, replacing", "run, replacing") if SAIL_IS_HERE)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "engine"), CASES, ids=[f"{n}, {e}".replace(", ", "_").replace(" ", "_") for n, e in CASES])
def test_a_fault_at_any_operation_is_survived(name, engine, tmp_path_factory):
    with a_server(tmp_path_factory.mktemp("server"), True, SPARK_MODULES if engine == SAIL else ()) as server:
        trial = Trial(server, SCENARIOS[name], engine, tmp_path_factory.mktemp("home")).prepare()
        points = range(1, trial.operations + 1)
        assert len(points) > 0
        problems = {}
        for fault in FAULTS:
            found = trial.kill_states(points) if fault == "SIGKILL" else (trial.problem(at, fault) for at in points)
            wrong = {at: problem for at, problem in zip(points, found, strict=True) if problem not in ("", UNREACHED)}
            problems.update({f"{fault} at {at}, {trial.seen[at - 1]}": problem for at, problem in wrong.items()})
        assert problems == {}
