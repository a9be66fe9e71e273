"""State matchers from Python: built-in ones, functions of one's own, their score, and credit that uses them."""

from __future__ import annotations

import re

import pytest

import lodestep


def pages() -> list[dict[str, object]]:
    """Two batches of one task: a hall, a kitchen and the way out, each page with a number that means nothing."""
    rows = []
    for group in ("monday", "tuesday"):
        for episode in range(3):
            for t, place in enumerate(("hall", "kitchen", "garden")):
                page = {
                    "group": group,
                    "episode": str(episode),
                    "t": t,
                    "text": f"A {place}.\nTicket {17 * episode + 5 * t + len(group)}",
                    "truth": place,
                    "task": "leave the house",
                    "success": True,
                }
                rows.append({**page, "action": "go"} if t < 2 else page)
    return rows


def by_first_line(rows: list[dict[str, str]]) -> list[str]:
    return [row["text"].split("\n")[0] for row in rows]


def test_built_in_matchers() -> None:
    names = [row["name"] for row in lodestep.matchers.matchers()]
    assert {"exact", "rules", "lexical", "robust", "embedding", "true"} <= set(names)
    exact = lodestep.match(pages())
    truth = lodestep.match(pages(), "true")
    assert len(set(exact.keys)) == 18 and len(set(truth.keys)) == 6
    assert truth.agreement is not None and truth.agreement["pooled"]["pairwise_f1"] == 1
    assert truth.agreement["pooled"]["sign_agreement"] == 1
    assert truth.agreement["cross_batch"]["consistency"] == 1
    assert exact.agreement is not None and exact.agreement["pooled"]["pairwise_recall"] == 0
    robust = lodestep.match(pages(), "robust", witness="first")
    again = lodestep.match(pages(), "robust", model=robust.model, scope="frozen")
    assert robust.model and len(again.keys) == 18


def test_a_matcher_of_ones_own_is_scored() -> None:
    mine = lodestep.match(pages(), by_first_line)
    assert mine.agreement is not None
    assert mine.agreement["pooled"]["pairwise_f1"] == 1
    assert mine.agreement["pooled"]["distance_error_max"] == 0
    assert len(set(mine.keys)) == 6  # never across groups
    everything = lodestep.match(pages(), lambda rows: [0] * len(rows))
    assert everything.agreement is not None and everything.agreement["pooled"]["false_merge_rate"] > 0.5


def test_a_recording_is_matched_with_its_truth() -> None:
    run = lodestep.rollout("webshop", groups=2, group_size=4, max_steps=6, seed=3)
    rows = lodestep.matchers.pages_of(run)
    assert len(rows) == len(run.steps()["t"]) + 8
    truth = lodestep.match(run, "true")
    assert truth.agreement is not None and truth.agreement["pooled"]["sign_agreement"] == 1
    mine = lodestep.match(run, by_first_line)
    assert len(mine.keys) == len(rows)


def test_credit_with_a_function() -> None:
    steps = []
    for episode, ticket in enumerate(("Ticket 1", "Ticket 2")):
        wins = episode == 0
        steps.append(
            {"task": "u", "episode": episode, "t": 0, "state": f"A hall.\n{ticket}", "next_state": f"End {episode}", "success": wins}
        )
    plain = lodestep.credit.compute(steps)
    mine = lodestep.credit.compute(steps, matcher=by_first_line)
    assert plain.node is not None and mine.node is not None and mine.group is not None
    assert plain.node[0] != plain.node[1]
    assert mine.node[0] == mine.node[1] and mine.group[0] == mine.group[1]
    named = lodestep.credit.compute(steps, matcher="rules", matcher_settings={"rules": "default"})
    assert named.node is not None
    columns = {name: [step[name] for step in steps] for name in steps[0]}
    assert list(lodestep.credit.compute(columns, matcher=by_first_line).advantage) == list(mine.advantage)


def test_mistakes_are_said() -> None:
    with pytest.raises(lodestep.InvalidArgument, match="1 labels for 18 pages"):
        lodestep.match(pages(), lambda rows: ["one"])
    with pytest.raises(lodestep.InvalidArgument, match="no options"):
        lodestep.match(pages(), by_first_line, guard="none")
    with pytest.raises(lodestep.InvalidArgument, match="unknown field"):
        lodestep.match([{**pages()[0], "colour": "red"}])
    with pytest.raises(lodestep.Error, match=re.escape('unknown matcher "lexicla"')):
        lodestep.match(pages(), "lexicla")
    with pytest.raises(ZeroDivisionError):
        lodestep.match(pages(), lambda rows: 1 // 0)
    steps = [{"task": "u", "episode": 0, "t": 0, "state": "a"}]
    with pytest.raises(lodestep.InvalidArgument, match="groups cannot stay exact"):
        lodestep.credit.compute(steps, matcher=by_first_line, grouping="exact")
