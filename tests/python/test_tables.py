"""Recordings as pandas, Arrow, Parquet and Hugging Face datasets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lodestep
from lodestep import tables

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.fixture
def run(factory: lodestep.Factory, tmp_path: Path) -> lodestep.Recording:
    run = lodestep.rollout(factory, groups=2, group_size=3, max_steps=7, seed=4, out=tmp_path / "run.db")
    run.add_credit("graphgpo")
    run.add_credit("grpo")
    return lodestep.open(tmp_path / "run.db")


def test_pandas_and_arrow_hold_every_step_with_its_credit(run: lodestep.Recording) -> None:
    frame, table = run.to_pandas(), run.to_arrow()
    assert len(frame) == table.num_rows == run.summary()["steps"]
    assert list(frame.columns) == table.column_names
    estimates = {row["name"]: row for row in run.estimates()}
    assert frame["advantage:grpo"].tolist() == estimates["grpo"]["advantage"].tolist()
    assert table["advantage:graphgpo"].to_pylist() == estimates["graphgpo"]["advantage"].tolist()
    assert table["admissible"].to_pylist() == run.steps()["admissible"]
    by_episode = frame.groupby(["group", "member"])["reward"].sum()
    assert by_episode.tolist() == pytest.approx(run.episodes()["total_reward"].tolist())
    unknown = np.isnan(frame["distance"])
    assert table["distance"].null_count == unknown.sum()


def test_parquet(run: lodestep.Recording, tmp_path: Path) -> None:
    import pyarrow.parquet

    tables.write_parquet(run, tmp_path / "run.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "run.parquet")
    assert table.equals(run.to_arrow())
    assert table.schema.metadata[b"lodestep.seed"] == b"4"
    with pytest.raises(OSError):
        tables.write_parquet(run, tmp_path / "nowhere" / "run.parquet")
    assert sorted(path.name for path in tmp_path.iterdir() if "parquet" in path.name) == ["run.parquet"]


def test_hugging_face_dataset(run: lodestep.Recording, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    tables.write_dataset(run, tmp_path / "dataset")
    loaded = datasets.load_from_disk(str(tmp_path / "dataset"))
    assert loaded["observation"][:] == run.steps()["observation"]
