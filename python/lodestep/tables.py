"""Recordings as tables: pandas, Arrow, Parquet, Hugging Face datasets.

    lodestep.open("run.db").to_pandas()
    lodestep.tables.write_parquet(run, "run.parquet")
    lodestep.tables.write_dataset(run, "run-dataset")      # datasets.load_from_disk("run-dataset")
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from lodestep.recordings import Recording

__all__ = ["steps_with_credit", "to_arrow", "to_pandas", "write_dataset", "write_parquet"]

_CREDIT = ("step_return", "step_advantage", "episode_advantage", "advantage")


def steps_with_credit(run: Recording) -> dict[str, Any]:
    """The step columns, the outcome of each step's episode, and each stored estimate's columns as
    `advantage:NAME` and so on."""
    columns = run.steps()
    episodes = run.episodes()
    rows = np.repeat(np.arange(len(episodes["steps"])), episodes["steps"])
    for name in ("outcome", "status"):
        columns[name] = [episodes[name][row] for row in rows]
    columns["truncated"] = episodes["truncated"][rows]
    columns["episode_reward"] = episodes["total_reward"][rows]
    for estimate in run.estimates():
        for name in _CREDIT:
            if estimate[name] is not None:
                columns[f"{name}:{estimate['name']}"] = estimate[name]
    return columns


def to_arrow(columns: Mapping[str, Any]) -> pyarrow.Table:
    """Columns as an Arrow table. A number that is not known is null, not NaN."""
    import pyarrow

    arrays = {}
    for name, column in columns.items():
        floats = isinstance(column, np.ndarray) and column.dtype.kind == "f"
        if name.endswith("admissible"):
            arrays[name] = pyarrow.array(column, pyarrow.list_(pyarrow.string()))
        elif name == "format_valid":
            arrays[name] = pyarrow.array(column, pyarrow.bool_())
        elif isinstance(column, list):
            arrays[name] = pyarrow.array(column, pyarrow.string())
        else:
            arrays[name] = pyarrow.array(column, from_pandas=floats)
    return pyarrow.table(arrays)


def to_pandas(columns: Mapping[str, Any]) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(dict(columns))


def _table(run: Recording) -> pyarrow.Table:
    table = to_arrow(steps_with_credit(run))
    return table.replace_schema_metadata({f"lodestep.{key}": value for key, value in run.info.items()})


def write_parquet(run: Recording, path: str | os.PathLike[str]) -> None:
    """All steps with their credit as one Parquet file, whole or not at all; how the run was made is in its
    metadata."""
    import pyarrow.parquet

    folder, name = os.path.split(os.path.abspath(path))
    handle, part = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    os.close(handle)
    try:
        pyarrow.parquet.write_table(_table(run), part, compression="zstd")
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def write_dataset(run: Recording, path: str | os.PathLike[str]) -> None:
    """The same as a Hugging Face dataset on disk."""
    import datasets

    datasets.Dataset(_table(run)).save_to_disk(os.fspath(path))
