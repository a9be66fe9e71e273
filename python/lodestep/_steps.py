"""Recorded steps as columns of numbers, the form in which the core takes them without a detour through text.

`read` takes what is usual: plain Python and numpy types in known fields. Of anything else it says Unusual, and the core's
own reader of JSON lines, which knows every word of a refusal, gets the steps instead. Both give the same credit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["FLAGS", "IDS", "NUMBERS", "Steps", "Unusual", "read"]

IDS = ("task", "episode", "t", "state", "next_state", "action", "tokens", "turns_left", "admissible_count")
NUMBERS = ("reward", "episode_reward", "cost", "value", "next_value", "log_ratio", "energy")
FLAGS = ("valid", "active", "success", "done", "truncated", "infrastructure_failure")

_COUNTS = {"tokens": 1, "turns_left": 0, "admissible_count": 0}
_NUMBER_DEFAULTS = {"cost": 1.0, "value": 0.0, "next_value": np.nan, "log_ratio": 0.0, "energy": 0.0}
_FIELDS = frozenset((*IDS, *NUMBERS, *FLAGS, "answer_logprob", "keys"))
_REQUIRED = IDS[:4]


class Unusual(Exception):
    """Steps that the core's reader must see itself."""


class _Absent:
    """A field that a step leaves out."""


_ABSENT = _Absent()
_NONE = type(None)
_INTEGERS = frozenset({int, np.int64, np.int32, np.int16, np.int8, np.uint32, np.uint16, np.uint8})
_REALS = _INTEGERS | {float, np.float64, np.float32, np.float16}
_BOOLS = frozenset({bool, np.bool_})
_NAMES = frozenset({str}) | _INTEGERS
_GRIDS = frozenset({list, tuple, np.ndarray})

Column = Any  # a sequence of values, or a numpy array


@dataclass
class Steps:
    """Columns for the core, and the tasks and states that their numbers stand for."""

    columns: dict[str, np.ndarray] = field(default_factory=dict)
    keys: list[np.ndarray] = field(default_factory=list)
    tasks: list[Any] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)
    goal: int = -1
    left_out: tuple[np.ndarray, np.ndarray] = (np.empty(0), np.empty(0))


def read(steps: Any, ignore_unknown: bool) -> Steps:
    given = _columns(steps, ignore_unknown)
    for name in _REQUIRED:
        if name not in given:
            raise Unusual
    rows = len(given["task"])
    if any(len(column) != rows for column in given.values()):
        raise Unusual
    out = Steps()
    out.columns["task"], out.tasks = _numbered(given["task"], _NAMES)
    out.columns["episode"], _ = _numbered(given["episode"], _NAMES)
    out.columns["t"] = _counts(given["t"], None)
    left_out_states = _read_states(given, rows, out)
    if "action" in given:
        out.columns["action"], _ = _numbered(given["action"], _NAMES, gaps=frozenset({_NONE, _Absent}))
    left_out_rewards = _read_rewards(given, rows, out)
    for name, default in _COUNTS.items():
        if name in given:
            out.columns[name] = _counts(given[name], default)
    for name, number in _NUMBER_DEFAULTS.items():
        if name in given:
            out.columns[name] = _numbers(given[name], number, np.isnan(number))
    for name in FLAGS:
        if name in given:
            out.columns[name] = _flags(given[name], name in ("valid", "active"))
    if "answer_logprob" in given:
        pairs = _pairs(given["answer_logprob"])
        out.columns["answer_logprob_before"], out.columns["answer_logprob_after"] = pairs
    if "keys" in given:
        out.keys = _key_levels(given["keys"])
    out.left_out = (left_out_states, left_out_rewards)
    return out


def _columns(steps: Any, ignore_unknown: bool) -> dict[str, Column]:
    if hasattr(steps, "to_pylist"):  # an Arrow table
        given = {name: _without_nulls(name, *_of_arrow(steps[name])) for name in steps.column_names}
    elif hasattr(steps, "iterrows"):  # a DataFrame
        given = {name: _without_nulls(name, *_of_series(steps[name])) for name in steps}
    elif isinstance(steps, Mapping):
        given = dict(steps)
    else:
        given = _of_rows(steps)
    unknown = given.keys() - _FIELDS
    if unknown and not ignore_unknown:
        raise Unusual
    return {name: column for name, column in given.items() if name not in unknown}


def _of_rows(rows: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    if set(map(type, rows)) != {dict}:
        raise Unusual
    layouts = set(map(tuple, rows))
    for layout in layouts:  # states are numbered as they are met
        if "next_state" in layout and "state" in layout and layout.index("next_state") < layout.index("state"):
            raise Unusual
    names = dict.fromkeys(itertools.chain.from_iterable(layouts))
    return {
        name: [row[name] for row in rows]
        if all(name in layout for layout in layouts)
        else [row.get(name, _ABSENT) for row in rows]
        for name in names
    }


def _of_arrow(column: Any) -> tuple[Column, np.ndarray]:
    import pyarrow

    gaps = np.asarray(column.is_null())
    if not gaps.any() and (pyarrow.types.is_floating(column.type) or pyarrow.types.is_integer(column.type)):
        return column.to_numpy(), gaps
    if not gaps.any() and (pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)):
        chunks = [chunk.dictionary_encode() for chunk in column.chunks]  # each text becomes a str once
        parts = [np.array(chunk.dictionary.to_pylist(), object)[chunk.indices.to_numpy()] for chunk in chunks]
        return (np.concatenate(parts) if parts else np.empty(0, object)), gaps
    return column.to_pylist(), gaps


def _of_series(column: Any) -> tuple[Column, np.ndarray]:
    gaps = column.isna().to_numpy()
    if str(column.dtype) in ("str", "string") and not gaps.any():
        codes, texts = column.factorize()
        return np.asarray(texts, object)[codes], gaps
    return column.to_numpy(), gaps


def _without_nulls(name: str, column: Column, gaps: np.ndarray) -> Column:
    """In a table an empty cell is a field left out; a reward that is not there is not 0."""
    if not gaps.any():
        return column
    empty = None if name in ("reward", "episode_reward") else _ABSENT
    values = column.tolist() if isinstance(column, np.ndarray) else column
    return [empty if gap else value for value, gap in zip(values, gaps.tolist())]


def _types(column: Column, allowed: frozenset[type]) -> set[type]:
    found = set(map(type, column))
    if not found <= allowed:
        raise Unusual
    return found


def _listed(column: Column) -> Sequence[Any]:
    values: Sequence[Any] = column.tolist() if isinstance(column, np.ndarray) else column
    return values


def _numbered(column: Column, allowed: frozenset[type], gaps: frozenset[type] = frozenset()) -> tuple[np.ndarray, list[Any]]:
    """Dense numbers by first appearance, -1 in gaps, and what they stand for."""
    values = _listed(column)
    _types(values, allowed | gaps)
    stand_for = [value for value in dict.fromkeys(values) if type(value) not in gaps]
    number = {**dict(zip(stand_for, itertools.count())), None: -1, _ABSENT: -1}
    return np.fromiter(map(number.__getitem__, values), np.int32, len(values)), stand_for


def _array(column: Column, kinds: str, allowed: frozenset[type], default: Any, dtype: type) -> np.ndarray:
    if isinstance(column, np.ndarray) and column.dtype.kind in kinds:
        return np.ascontiguousarray(column, dtype)
    values = _listed(column)
    if _Absent in _types(values, allowed | ({_Absent} if default is not None else set())):
        values = [default if v is _ABSENT else v for v in values]
    return np.array(values, dtype)


def _counts(column: Column, default: int | None) -> np.ndarray:
    counts = _array(column, "iu", _INTEGERS, default, np.int64)
    if len(counts) and not (0 <= counts.min() and counts.max() < 2**31):
        raise Unusual
    return counts.astype(np.int32)


def _numbers(column: Column, default: float, gaps_are_nan: bool = False) -> np.ndarray:
    numbers = _array(column, "fiu", _REALS, default, np.float64)
    if gaps_are_nan and not isinstance(column, np.ndarray):
        bad = sum(v is not _ABSENT and v != v for v in column) or np.isinf(numbers).any()
    else:
        bad = not np.isfinite(numbers).all()
    if bad:
        raise Unusual
    return numbers


def _flags(column: Column, default: bool) -> np.ndarray:
    return _array(column, "b", _BOOLS, default, np.bool_).astype(np.uint8)


def _pairs(column: Column) -> tuple[np.ndarray, np.ndarray]:
    values = [(0.0, 0.0) if v is _ABSENT else v for v in _listed(column)]
    _types(values, frozenset({list, tuple}))
    if set(map(len, values)) != {2}:
        raise Unusual
    numbers = _numbers([part for pair in values for part in pair], 0.0)
    return np.ascontiguousarray(numbers[0::2]), np.ascontiguousarray(numbers[1::2])


def _key_levels(column: Column) -> list[np.ndarray]:
    values = _listed(column)
    _types(values, frozenset({list, tuple}))
    levels = set(map(len, values))
    if len(levels) != 1 or 0 in levels:
        raise Unusual
    numbers, _ = _numbered([key for keys in values for key in keys], frozenset({str}))
    return [np.ascontiguousarray(level) for level in numbers.reshape(len(values), -1).T]


def _read_states(given: Mapping[str, Column], rows: int, out: Steps) -> np.ndarray:
    """Fills in the numbers of states and next states; 1 where the next state is left out."""
    states = _hashable(_listed(given["state"]), frozenset())
    following = _hashable(_listed(given.get("next_state", [_ABSENT] * rows)), frozenset({_NONE, _Absent}))
    met: list[Any] = [None] * (2 * rows)  # row by row first the state, then the next one
    met[0::2], met[1::2] = states, following
    numbers, out.states = _numbered(met, frozenset({str, tuple}), gaps=frozenset({_NONE, _Absent}))
    out.columns["state"] = np.ascontiguousarray(numbers[0::2])
    out.columns["next_state"] = np.ascontiguousarray(numbers[1::2])
    out.goal = out.states.index("success") if "success" in out.states else -1
    return (out.columns["next_state"] < 0).astype(np.uint8)


def _hashable(values: Sequence[Any], gaps: frozenset[type]) -> Sequence[Any]:
    """Texts as they are, grids of whole numbers as tuples of their cells."""
    found = _types(values, _GRIDS | {str} | gaps)
    return values if not found & _GRIDS else list(map(_cells, values))


def _cells(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iu":
            raise Unusual
        return tuple(value.ravel().tolist())
    if not isinstance(value, (list, tuple)):
        return value
    _types(value, _INTEGERS)
    return tuple(value)


def _read_rewards(given: Mapping[str, Column], rows: int, out: Steps) -> np.ndarray:
    """Fills in both rewards and whether they are known; 1 where the episode's is left out."""
    for name in ("reward", "episode_reward"):
        if name not in given:
            continue
        column = given[name]
        if not isinstance(column, np.ndarray) or column.dtype.kind not in "fiu":
            column = _listed(column)
            if _NONE in _types(column, _REALS | {_NONE, _Absent}):
                out.columns[f"{name}_known"] = np.array([v is not None for v in column], np.uint8)
                column = [0.0 if v is None else v for v in column]
        out.columns[name] = _numbers(column, 0.0)
    if "episode_reward" not in given:
        return np.ones(rows, np.uint8)
    return np.array([v is _ABSENT for v in given["episode_reward"]], np.uint8)


def rows_of(steps: Any) -> Iterable[Mapping[str, Any]]:
    """The steps one by one, whatever they were handed over as."""
    if hasattr(steps, "to_pylist"):
        yield from (_without_missing(row) for row in steps.to_pylist())
    elif hasattr(steps, "iterrows"):
        yield from (_without_missing(row) for row in steps.to_dict("records"))
    elif isinstance(steps, Mapping):
        columns = {name: list(column) for name, column in steps.items()}
        yield from (dict(zip(columns, row)) for row in zip(*columns.values()))
    else:
        yield from steps


def _without_missing(row: Mapping[str, Any]) -> dict[str, Any]:
    out = {}
    for name, value in row.items():
        missing = value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"
        if not missing:
            out[name] = value
        elif name in ("reward", "episode_reward"):
            out[name] = None
    return out
