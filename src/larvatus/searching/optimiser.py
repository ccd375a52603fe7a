"""The optimiser: it proposes settings to try next, and learns from their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from larvatus.core.errors import LarvatusError
from larvatus.core.randomness import stream_key
from larvatus.searching.space import SearchAxis, SearchedSteps

WHICH, _WORST = "which", 1e9
_MOST, _BEST, _LATEST = 1000, 100, 400  # results that are learnt from; those that remain when there are so many


class Optimiser:
    """Optuna's tree-structured Parzen estimator under a constraint, seeded from the secret.

    It first tries the ends and the middle of every range, so that the search starts with both sides of the limit. It goes
    through all results to propose the next settings. In a long search it therefore forgets older results that are not among
    the best: the time of a proposal does not grow.
    """

    def __init__(self, spaces: Sequence[SearchedSteps], trials: int, secret: bytes) -> None:
        try:
            import optuna
        except ImportError:
            way = "Install it: pip install 'larvatus[search]'."
            raise LarvatusError(f"search: Optuna is needed, and is not installed. {way}") from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._failed = optuna.trial.TrialState.FAIL
        self._spaces = {s.name: s for s in spaces}
        seed = int.from_bytes(stream_key(secret, "search")[:4], "little")
        own = hasattr(optuna.trial.Trial, "set_constraint")
        more: dict[str, Any] = {} if own else {"constraints_func": lambda t: (t.user_attrs["violation"],)}
        first = max(4, min(10, trials // 3))
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=first, multivariate=False, **more)
        self._new_study = partial(optuna.create_study, sampler=sampler)
        self._study = self._new_study()
        self._constrained, self._open, self._told = own, 0, dict[int, tuple[float, float]]()
        for space in spaces:
            for values in _corners(space):
                self._study.enqueue_trial({f"{space.name}: {k}": v for k, v in values.items()} | self._named(space))

    def ask(self) -> tuple[Any, SearchedSteps, dict[str, Any]]:
        """The next candidate: a token for reporting its result, the steps, and the values of the searched settings."""
        if len(self._told) >= _MOST and not self._open:
            self._forget()
        trial = self._study.ask()
        self._open += 1
        name = trial.suggest_categorical(WHICH, list(self._spaces)) if len(self._spaces) > 1 else next(iter(self._spaces))
        space = self._spaces[name]
        return trial, space, {a.key: _suggested(trial, f"{name}: {a.key}", a) for a in space.axes}

    def tell(self, trial: Any, loss: float, violation: float) -> None:
        """Report the result of a candidate. One that could not be made or scored counts as failed."""
        beyond = min(violation, _WORST)
        self._open -= 1
        self._told[trial.number] = (max(beyond, 0.0), loss if math.isfinite(loss) else math.inf)
        if self._constrained:
            trial.set_constraint("limits", beyond)
        else:
            trial.set_user_attr("violation", beyond)
        if math.isfinite(loss):
            self._study.tell(trial, loss)
        else:
            self._study.tell(trial, state=self._failed)

    def _forget(self) -> None:
        """Go on in a new study with the best results and the latest ones, and with what waits to be tried."""
        best = set(sorted(self._told, key=self._told.__getitem__)[:_BEST]) | set(sorted(self._told)[-_LATEST:])
        trials = [t for t in self._study.get_trials(deepcopy=False) if t.number in best or t.number not in self._told]
        told = [self._told.get(t.number) for t in trials]
        self._study = self._new_study()
        self._study.add_trials(trials)
        self._told = {i: known for i, known in enumerate(told) if known is not None}

    def _named(self, space: SearchedSteps) -> dict[str, Any]:
        return {WHICH: space.name} if len(self._spaces) > 1 else {}


def _corners(space: SearchedSteps) -> list[dict[str, Any]]:
    """All settings at their low end, all at their high end, all in the middle."""
    corners = [a.corners() for a in space.axes]
    return [{a.key: c[i % len(c)] for a, c in zip(space.axes, corners, strict=True)} for i in range(3)]


def _suggested(trial: Any, name: str, axis: SearchAxis) -> Any:
    if axis.choices:
        return trial.suggest_categorical(name, list(range(len(axis.choices))))
    if axis.whole:
        return trial.suggest_int(name, int(axis.low), int(axis.high), log=axis.log)
    found = trial.suggest_float(name, axis.low, axis.high, log=axis.log)
    return min(max(float(f"{found:.4g}"), axis.low), axis.high)
