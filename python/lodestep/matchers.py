"""State matchers: which pages are one state?

    matching = lodestep.match(pages, "robust")
    matching.keys                 # one a page, in order; equal keys are one state
    matching.agreement["pooled"]  # where every page has a `truth`: how well the keys agree with it

`pages` are dicts with the fields of `lodestep match` on the command line (group, episode, t, text; actions, action,
truth, task and success are optional) or a lodestep.Recording. A matcher of your own is a function from the list of
pages to one label a page:

    def by_first_line(pages):
        return [page["text"].split("\\n")[0] for page in pages]

    lodestep.match(pages, by_first_line)
    lodestep.credit.compute(steps, matcher=by_first_line)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lodestep import _core
from lodestep.errors import InvalidArgument
from lodestep.recordings import Recording

__all__ = ["Matching", "Page", "PageMatcher", "match", "matchers", "pages_of"]

Page = Mapping[str, Any]
#: From pages to one label each; equal labels within a group are one state. It may look at all pages at once.
PageMatcher = Callable[[list[Page]], Sequence[Hashable]]


@dataclass(frozen=True)
class Matching:
    """Keys of pages, in their order. A page whose group has failed has no key."""

    keys: list[str | None]
    #: What the matcher wants you to know, one line each.
    notes: list[str]
    #: Groups without keys, and why.
    failed: dict[str, str]
    #: Comparisons made and avoided.
    cost: dict[str, int] = field(repr=False)
    #: The measures of `lodestep match --json`; None unless every page has a `truth`.
    agreement: dict[str, Any] | None = field(repr=False)
    #: What the matcher has learnt, for the `model` of a later call; empty for a matcher without memory.
    model: bytes = field(repr=False)


def matchers() -> list[dict[str, Any]]:
    """The built-in matchers: name, summary, options."""
    return _core.matchers()


def match(
    pages: Iterable[Page] | Recording,
    matcher: str | PageMatcher = "exact",
    *,
    model: bytes | None = None,
    **settings: Any,
) -> Matching:
    """The key of every page, by a built-in matcher with its options or by a function of your own."""
    rows: list[Page] = [*(pages_of(pages) if isinstance(pages, Recording) else pages)]
    if callable(matcher):
        if settings or model is not None:
            raise InvalidArgument("a function has no options and no model", "match", "use functools.partial")
        labels = _labels(matcher, rows)
        numbers: dict[Hashable, int] = {}
        rows = [{**row, "key": str(numbers.setdefault(label, len(numbers)))} for row, label in zip(rows, labels)]
        name = "given"
    else:
        name = matcher
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return Matching(**_core.match_pages(lines, name, settings, model))


def pages_of(recording: Recording) -> list[dict[str, Any]]:
    """Every situation of a recording as a page with its truth: an episode's steps, then the state it ended in."""
    steps, episodes = recording.steps(), recording.episodes()
    outcome = {
        (int(group), int(member)): text == "success"
        for group, member, text in zip(episodes["group"], episodes["member"], episodes["outcome"])
    }
    pages: list[dict[str, Any]] = []
    count = len(steps["t"])
    for row in range(count):
        place = (int(steps["group"][row]), int(steps["member"][row]))
        page = {
            "group": str(place[0]),
            "episode": str(place[1]),
            "t": int(steps["t"][row]),
            "text": steps["observation"][row],
            "actions": list(steps["admissible"][row]),
            "action": steps["action"][row],
            "truth": steps["key_exact"][row],
            "success": outcome[place],
        }
        pages.append(page)
        last = row + 1 == count or (int(steps["group"][row + 1]), int(steps["member"][row + 1])) != place
        if last:
            pages.append(
                {
                    **{name: page[name] for name in ("group", "episode", "success")},
                    "t": page["t"] + 1,
                    "text": steps["next_observation"][row],
                    "actions": list(steps["next_admissible"][row]),
                    "truth": steps["next_key_exact"][row],
                }
            )
    return pages


def _labels(matcher: PageMatcher, pages: list[Page]) -> Sequence[Hashable]:
    labels = list(matcher(pages))
    if len(labels) != len(pages):
        raise InvalidArgument(f"the matcher gave {len(labels)} labels for {len(pages)} pages", "matcher", "one a page")
    return labels


def merge_states(steps: Iterable[Mapping[str, Any]], matcher: PageMatcher) -> Iterator[dict[str, Any]]:
    """The steps with each state replaced by the first one of its task with the same label. The matcher sees the
    distinct states of all tasks as pages, `group` being the task and `t` the place among its states."""
    rows = [dict(step) for step in steps]
    names: dict[tuple[Any, str], Any] = {}
    for row in rows:
        for name in ("state", "next_state"):
            if row.get(name) is not None:
                names.setdefault((row.get("task"), _text(row[name])), row[name])
    places: dict[Any, int] = {}
    pages: list[Page] = []
    for task, text in names:
        places[task] = places.get(task, -1) + 1
        pages.append({"group": task, "episode": "", "t": places[task], "text": text})
    first: dict[tuple[Any, Hashable], Any] = {}
    stands_for: dict[tuple[Any, str], Any] = {}
    for (place, state), label in zip(names.items(), _labels(matcher, pages)):
        stands_for[place] = first.setdefault((place[0], label), state)
    for row in rows:
        for name in ("state", "next_state"):
            if row.get(name) is not None:
                row[name] = stands_for[(row.get("task"), _text(row[name]))]
        yield row


def _text(state: Any) -> str:
    return state if isinstance(state, str) else str(getattr(state, "tolist", lambda: state)())
