// The list of groups at the left, with search.
import type { App } from "./app";
import { goToStep } from "./app";
import { h } from "./dom";
import { KIND_NAMES, KIND_SIGNS, type Kind, type Model } from "./model";

const SHOWN = 400; // groups; more are reached by searching

interface Query { words: string[]; task: string[]; outcome: string[]; action: string[]; flags: string[] }

// "key door outcome:failure task:b2 action:push is:no-signal"
export function parseQuery(text: string): Query {
  const query: Query = { words: [], task: [], outcome: [], action: [], flags: [] };
  for (const word of text.toLowerCase().match(/\S*"[^"]*"|\S+/g) ?? []) {
    const [, key, value] = /^(task|outcome|action|is):(.+)$/.exec(word) ?? [null, "", word];
    const plain = value.replace(/"/g, "");
    if (key === "task") query.task.push(plain);
    else if (key === "outcome") query.outcome.push(plain);
    else if (key === "action") query.action.push(plain);
    else if (key === "is") query.flags.push(plain);
    else if (plain) query.words.push(plain);
  }
  return query;
}

export interface Hit { group: number; episodes: number[]; steps: number[] }

// Groups with a match; episodes that match, and, when words or actions are asked for, the steps that contain them.
export function search(app: App, text: string): Hit[] {
  const { model } = app;
  const query = parseQuery(text);
  const contains = (words: string[]) => words.map((word) => model.doc.texts.map((t) => t.toLowerCase().includes(word)));
  const words = contains(query.words), actions = contains(query.action), tasks = contains(query.task);
  const hits: Hit[] = [];
  for (let group = 0; group < model.groupCount; group++) {
    const task = model.doc.groups.task[group];
    if (!tasks.every((table) => table[task])) continue;
    const standing = model.standing(group);
    if (query.flags.some((flag) => flag === "no-signal" ? !standing.noSignal : flag === "mixed" ? standing.noSignal : true)) continue;
    const hit: Hit = { group, episodes: [], steps: [] };
    for (const e of model.episodes(group)) {
      if (!query.outcome.every((want) => outcomeMatches(model.kind(e), want))) continue;
      if (words.length + actions.length === 0) {
        hit.episodes.push(e);
        continue;
      }
      const before = hit.steps.length;
      for (let i = model.first(e); i < model.first(e) + model.length(e); i++) {
        const { observation, action } = model.doc.steps;
        if (actions.every((table) => table[action[i]]) && words.every((table) => table[observation[i]] || table[action[i]] || table[task])) hit.steps.push(i);
      }
      const last = model.doc.episodes.last.observation[e];
      const atEnd = actions.length === 0 && words.every((table) => table[last] || table[task]);
      if (atEnd || hit.steps.length > before) hit.episodes.push(e);
    }
    if (hit.episodes.length > 0) hits.push(hit);
  }
  return hits;
}

function outcomeMatches(kind: Kind, want: string): boolean {
  return kind === want || KIND_NAMES[kind] === want || (want === "failure" && (kind === "truncated" || kind === "stopped"));
}

let found: { model: Model | null; query: string; hits: Hit[] } = { model: null, query: "", hits: [] };

export function groupList(app: App): HTMLElement {
  const { model, state } = app;
  if (found.query !== state.query || found.model !== model) found = { model, query: state.query, hits: search(app, state.query) };
  const { hits } = found;
  const box = h("input", {
    id: "search", type: "search", value: state.query, placeholder: "Search: words, task:, outcome:failure, action:", "aria-label": "search",
    onchange: () => app.set({ query: box.value }),
  });
  const filters: [string, string][] = [["all", ""], ["mixed", "is:mixed"], ["failed", "outcome:failure"], ["solved", "outcome:success"]];
  const steps = hits.reduce((sum, hit) => sum + hit.steps.length, 0);
  return h("nav", { class: "groups", "aria-label": "groups" },
    box,
    h("div", { class: "filters" }, ...filters.map(([label, query]) =>
      h("button", { class: state.query === query ? "on" : "", onclick: () => app.set({ query }) }, label))),
    h("p", { class: "note" }, `${hits.length} of ${model.groupCount} groups` + (steps > 0 ? `, ${steps} steps match` : "")),
    h("ol", {}, ...hits.slice(0, SHOWN).map((hit) => row(app, hit))),
    hits.length > SHOWN ? h("p", { class: "note" }, `and ${hits.length - SHOWN} more: search for them`) : null);
}

function row(app: App, hit: Hit): HTMLElement {
  const { model, state } = app;
  const { episodes, successes, noSignal } = model.standing(hit.group);
  const open = () => hit.steps.length > 0 ? goToStep(app, hit.steps[0])
    : app.set({ tab: state.tab === "run" ? "group" : state.tab, group: hit.group, episode: state.query && hit.episodes.length > 0 ? hit.episodes[0] : -1, t: 0, node: -1 });
  return h("li", {},
    h("button", { class: hit.group === state.group ? "group on" : "group", "data-group": hit.group, onclick: open, "aria-current": hit.group === state.group },
      h("span", { class: "task" }, model.task(hit.group)),
      h("span", { class: "members" }, ...model.episodes(hit.group).map((e) =>
        h("i", { class: `dot ${model.kind(e)}`, title: `episode ${model.member(e)}: ${KIND_NAMES[model.kind(e)]}` }, KIND_SIGNS[model.kind(e)]))),
      h("span", { class: "standing" }, `${successes}/${episodes}`, noSignal ? h("em", { title: "all episodes score the same: nothing to compare" }, "no signal") : null),
      hit.steps.length > 0 ? h("span", { class: "note" }, `${hit.steps.length} steps match`) : null));
}
