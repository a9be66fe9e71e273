"""Step credit for steps that anyone recorded: which step helped?

    credit = lodestep.credit.compute(steps, estimator="graphgpo", gamma=0.8)
    credit.advantage            # one number per step, in the order of the steps

`steps` are dicts, columns (lists or numpy arrays), a pandas DataFrame, an Arrow table or a
lodestep.Recording. The fields, estimators and options are those of `lodestep credit` on the command line.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lodestep import _core
from lodestep.errors import Error, InvalidArgument
from lodestep.recordings import Recording

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["Credit", "CreditWarning", "compute", "compute_columns", "estimators"]

_COLUMNS = ("step_return", "step_advantage", "episode_advantage", "advantage", "weight", "group", "node", "next_node")
# In a table an empty cell means that the field is left out, but a reward that is not there is not 0.
_NULL_COUNTS = ("reward", "episode_reward")


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
    _graphs: str | None = field(repr=False, default=None)
    _long_names: dict[str, str] = field(repr=False, default_factory=dict)

    @property
    def graphs(self) -> dict[str, Any] | None:
        """Per task the nodes, edges and goal of its graph, where the estimator builds one."""
        if self._graphs is None:
            return None
        graphs = json.loads(self._graphs)
        for graph in graphs.values():
            for node in graph["nodes"]:
                if isinstance(node["state"], str):
                    node["state"] = self._long_names.get(node["state"], node["state"])
        return graphs

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
    matcher: str = "exact",
    matcher_settings: Mapping[str, Any] | None = None,
    ignore_unknown: bool = False,
    threads: int = 1,
    **settings: Any,
) -> Credit:
    """The advantage of every step.

    `settings` are the estimator's options (`gamma=0.8`, `mode="mean_norm"`, ...); unknown ones are refused with
    the known ones listed. Unknown fields of steps are refused unless `ignore_unknown`. An estimator's warnings
    are raised as CreditWarning.
    """
    plan = _core.CreditPlan(estimator, preset, settings, matcher, dict(matcher_settings or {}), threads)
    if isinstance(steps, Recording):
        return _credit(*steps._credit(plan))
    # Only a matcher that compares texts needs to see them; for the others long ones go by a short name.
    names = _ShortNames() if matcher == "exact" and not settings.get("similarity") else None
    rows = _rows(steps) if names is None else map(names.shorten, _rows(steps))
    lines = "\n".join(map(json.JSONEncoder(ensure_ascii=False, default=_plain).encode, rows))
    try:
        columns, graphs = _core.credit_json_lines(plan, lines, ignore_unknown)
        return _credit(columns, graphs, names)
    except Error as error:
        error.where = error.where.replace("standard input line ", "step ").replace("standard input", "steps")
        raise


_IDS = ("task", "episode", "t", "state", "next_state", "action", "tokens", "turns_left")
_NUMBERS = ("reward", "episode_reward")
_FLAGS = ("valid", "active", "success", "done", "truncated", "infrastructure_failure")


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
    (-1: not known), action, tokens, turns_left, reward, episode_reward, valid, active, success, done, truncated and
    infrastructure_failure may be left out. Nothing is derived: give next_state and episode_reward. `keys` are
    columns of key numbers, coarse to fine, for estimators that back off.
    """
    plan = _core.CreditPlan(estimator, preset, settings, "exact", {}, threads)
    ready: dict[str, np.ndarray] = {}
    for name, values in columns.items():
        kind = np.int32 if name in _IDS else np.float64 if name in _NUMBERS else np.uint8 if name in _FLAGS else None
        if kind is None:
            known = ", ".join((*_IDS, *_NUMBERS, *_FLAGS))
            raise InvalidArgument(f"unknown column {name!r}", "compute_columns", f"known: {known}")
        ready[name] = np.ascontiguousarray(values, kind)
    for name in _IDS[:4]:
        if name not in ready:
            raise InvalidArgument(f"the column {name!r} is missing", "compute_columns")
    levels = [np.ascontiguousarray(level, np.int32) for level in keys or ()]
    return _credit(*_core.credit_columns(plan, ready, [], -1, levels))


class _ShortNames:
    """Short names for long texts, and back."""

    _MARK = "\x00text "

    def __init__(self) -> None:
        self.of: dict[str, str] = {}

    def name(self, value: Any) -> Any:
        if not isinstance(value, str) or (len(value) <= 32 and not value.startswith(self._MARK)):
            return value
        return self.of.setdefault(value, f"{self._MARK}{len(self.of)}")

    def shorten(self, row: Mapping[str, Any]) -> dict[str, Any]:
        out = dict(row)
        for field_name in ("state", "next_state"):
            if field_name in out:
                out[field_name] = self.name(out[field_name])
        if isinstance(out.get("keys"), (list, tuple)):
            out["keys"] = list(map(self.name, out["keys"]))
        return out


def _credit(columns: dict[str, Any], graphs: str | None = None, names: _ShortNames | None = None) -> Credit:
    for line in columns["summary"]["warnings"]:
        warnings.warn(line, CreditWarning, stacklevel=3)
    long_names = {} if names is None else {short: text for text, short in names.of.items()}
    return Credit(**columns, _graphs=graphs, _long_names=long_names)


def _rows(steps: Any) -> Iterator[Mapping[str, Any]]:
    if hasattr(steps, "to_pylist"):  # an Arrow table
        yield from (_without_nulls(row) for row in steps.to_pylist())
    elif hasattr(steps, "iterrows"):  # a DataFrame
        yield from (_without_nulls(row) for row in steps.to_dict("records"))
    elif isinstance(steps, Mapping):
        columns = {name: list(column) for name, column in steps.items()}
        if len({len(column) for column in columns.values()}) > 1:
            lengths = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
            raise ValueError(f"columns of different lengths: {lengths}")
        yield from (dict(zip(columns, row)) for row in zip(*columns.values()))
    elif isinstance(steps, Iterable):
        yield from steps
    else:
        raise TypeError(f"steps cannot be a {type(steps).__name__}: give dicts, columns, a DataFrame or a table")


def _without_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    out = {}
    for name, value in row.items():
        missing = value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"
        if not missing:
            out[name] = value
        elif name in _NULL_COUNTS:
            out[name] = None
    return out


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.ravel().tolist()  # a grid is its cells in order
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a step cannot hold a {type(value).__name__}")
