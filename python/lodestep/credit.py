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
from lodestep.errors import Error
from lodestep.recordings import Recording

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["Credit", "CreditWarning", "compute", "estimators"]

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

    @property
    def graphs(self) -> dict[str, Any] | None:
        """Per task the nodes, edges and goal of its graph, where the estimator builds one."""
        return None if self._graphs is None else json.loads(self._graphs)

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
    lines = "\n".join(json.dumps(row, ensure_ascii=False, default=_plain) for row in _rows(steps))
    try:
        return _credit(*_core.credit_json_lines(plan, lines, ignore_unknown))
    except Error as error:
        error.where = error.where.replace("standard input line ", "step ").replace("standard input", "steps")
        raise


def _credit(columns: dict[str, Any], graphs: str | None = None) -> Credit:
    for line in columns["summary"]["warnings"]:
        warnings.warn(line, CreditWarning, stacklevel=3)
    return Credit(**columns, _graphs=graphs)


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
