"""Step credit for steps that anyone recorded: which step helped?

    credit = lodestep.credit.compute(steps, estimator="graphgpo", gamma=0.8)
    credit.advantage            # one number per step, in the order of the steps

`steps` are dicts, columns (lists or numpy arrays), a pandas DataFrame, an Arrow table or a
lodestep.Recording. The fields, estimators and options are those of `lodestep credit` on the command line.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lodestep import _core, _steps
from lodestep.errors import Error, InvalidArgument
from lodestep.matchers import PageMatcher, merge_states
from lodestep.recordings import Recording

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["Credit", "CreditWarning", "compute", "compute_columns", "estimators"]

_COLUMNS = ("step_return", "step_advantage", "episode_advantage", "advantage", "weight", "group", "node", "next_node")


class CreditWarning(UserWarning):
    """The credit is right but probably not what was meant, such as groups of one member."""


@dataclass(frozen=True)
class Credit:
    """One entry per step in the order of the input. A column is None where the estimator has none; a number is
    NaN and an id -1 where a step has none."""

    advantage: np.ndarray
    step_return: np.ndarray | None
    step_advantage: np.ndarray | None
    episode_advantage: np.ndarray | None
    weight: np.ndarray | None
    group: np.ndarray | None
    node: np.ndarray | None
    next_node: np.ndarray | None
    summary: dict[str, Any] = field(repr=False)
    notes: list[str] = field(repr=False)
    _graphs: _core.Graphs | None = field(repr=False, default=None)
    _tasks: Sequence[Any] = field(repr=False, default=())
    _states: Sequence[Any] = field(repr=False, default=())

    @property
    def graphs(self) -> dict[str, Any] | None:
        """Per task the nodes, edges and goal of its graph, where the estimator builds one."""
        if self._graphs is None:
            return None
        out = {}
        for task, nodes, edges, goal in self._graphs.rows():
            out[str(self._tasks[task]) if self._tasks else str(task)] = {
                "nodes": [
                    {"id": i, "state": self._state(state), "distance": distance, "reached": reached, "visits": visits}
                    for i, (state, distance, reached, visits) in enumerate(nodes)
                ],
                "edges": [dict(zip(("from", "to", "cost", "count"), edge)) for edge in edges],
                "goal": goal,
            }
        return out

    def _state(self, number: int) -> Any:
        if not self._states:
            return number
        state = self._states[number] if number < len(self._states) else "success"  # a node that no step names
        return list(state) if isinstance(state, tuple) else state

    def columns(self) -> dict[str, np.ndarray]:
        """The columns that the estimator has."""
        return {name: getattr(self, name) for name in _COLUMNS if getattr(self, name) is not None}

    def to_pandas(self) -> pandas.DataFrame:
        import pandas

        return pandas.DataFrame(self.columns())

    def to_arrow(self) -> pyarrow.Table:
        import pyarrow

        return pyarrow.table(self.columns())


def estimators() -> list[dict[str, Any]]:
    """The estimators: name, summary, options, has_graph, merges_states."""
    return _core.estimators()


def compute(
    steps: Any,
    estimator: str = "graphgpo",
    *,
    preset: str = "",
    matcher: str | PageMatcher = "exact",
    matcher_settings: Mapping[str, Any] | None = None,
    ignore_unknown: bool = False,
    threads: int = 1,
    **settings: Any,
) -> Credit:
    """The advantage of every step.

    `settings` are the estimator's options (`gamma=0.8`, `mode="mean_norm"`, ...); unknown ones are refused with
    the known ones listed. Unknown fields of steps are refused unless `ignore_unknown`. An estimator's warnings
    are raised as CreditWarning. `matcher` is a name or a function of your own (see lodestep.matchers).
    """
    if callable(matcher):
        steps, matcher = _merged(steps, matcher, settings), "exact"
    plan = _core.CreditPlan(estimator, preset, settings, matcher, dict(matcher_settings or {}), threads)
    if isinstance(steps, Recording):
        return _credit(*steps._credit(plan))
    steps = _checked(steps)
    # Matchers read the texts of states, which only the reader of JSON lines keeps.
    if matcher == "exact" and not settings.get("similarity"):
        try:
            ready = _steps.read(steps, ignore_unknown)
        except _steps.Unusual:
            pass
        else:
            # evihb reads stages from texts, where nothing else says what to fall back on.
            reads = estimator == "evihb" and not ready.keys and "levels" not in settings
            texts = [_JSON.encode(state) for state in ready.states] if reads else []
            answer = _core.credit_columns(plan, ready.columns, texts, ready.goal, ready.keys, ready.left_out)
            return _credit(*answer, ready.tasks, ready.states)
    lines = "\n".join(map(_JSON.encode, _steps.rows_of(steps)))
    try:
        columns, graphs, tasks, states = _core.credit_json_lines(plan, lines, ignore_unknown)
    except Error as error:
        error.message, error.where = map(_as_steps, (error.message, error.where))
        raise
    return _credit(columns, graphs, list(map(json.loads, tasks)), list(map(json.loads, states)))


_KINDS: dict[str, type] = {
    **dict.fromkeys(_steps.IDS, np.int32),
    **dict.fromkeys(_steps.NUMBERS, np.float64),
    **dict.fromkeys(_steps.FLAGS, np.uint8),
}


def compute_columns(
    columns: Mapping[str, Any],
    estimator: str = "graphgpo",
    *,
    keys: Iterable[Any] | None = None,
    preset: str = "",
    threads: int = 1,
    **settings: Any,
) -> Credit:
    """The same on numbers alone, without a copy through text: for trainers that name states by number.

    `columns` are arrays of one length: task, episode, t and state are required, all dense numbers from 0; next_state
    (-1: not known), action, tokens, turns_left, admissible_count, reward, episode_reward, cost, value, next_value,
    log_ratio, energy, valid, active, success, done, truncated and infrastructure_failure may be left out. Nothing is
    derived: give next_state and episode_reward. `keys` are
    columns of key numbers, coarse to fine, for estimators that back off.
    """
    plan = _core.CreditPlan(estimator, preset, settings, "exact", {}, threads)
    ready: dict[str, np.ndarray] = {}
    for name, values in columns.items():
        if name not in _KINDS:
            raise InvalidArgument(f"unknown column {name!r}", "compute_columns", f"known: {', '.join(_KINDS)}")
        ready[name] = np.ascontiguousarray(values, _KINDS[name])
    for name in _steps.IDS[:4]:
        if name not in ready:
            raise InvalidArgument(f"the column {name!r} is missing", "compute_columns")
    levels = [np.ascontiguousarray(level, np.int32) for level in keys or ()]
    return _credit(*_core.credit_columns(plan, ready, [], -1, levels))


def _checked(steps: Any) -> Any:
    """Steps of a kind that is known; those that can be walked once only, as a list."""
    if hasattr(steps, "to_pylist") or hasattr(steps, "iterrows"):
        return steps
    if isinstance(steps, Mapping):
        lengths = {name: len(column) for name, column in steps.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise ValueError(f"columns of different lengths: {told}")
        return steps
    if isinstance(steps, Iterable):
        return list(steps)
    raise TypeError(f"steps cannot be a {type(steps).__name__}: give dicts, columns, a DataFrame or a table")


def _merged(steps: Any, matcher: PageMatcher, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    if isinstance(steps, Recording):
        raise InvalidArgument("a function matches steps, not a recording", "matcher", "match(recording, function) has keys")
    if "exact" in (settings.get("grouping"), settings.get("group_matching")):
        raise InvalidArgument("groups cannot stay exact where a function names the states", "grouping", "leave it out")
    return list(merge_states(_steps.rows_of(_checked(steps)), matcher))


def _as_steps(words: str) -> str:
    """The reader's words without the file that it believes to read."""
    return words.replace("standard input line ", "step ").replace("standard input", "steps")


def _credit(
    columns: dict[str, Any],
    graphs: _core.Graphs | None = None,
    tasks: Sequence[Any] = (),
    states: Sequence[Any] = (),
) -> Credit:
    for line in columns["summary"]["warnings"]:
        warnings.warn(line, CreditWarning, stacklevel=3)
    return Credit(**columns, _graphs=graphs, _tasks=tasks, _states=states)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()  # a grid is its cells in order
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a step cannot hold a {type(value).__name__}")


_JSON = json.JSONEncoder(ensure_ascii=False, default=_plain)
