// The group's episodes as strips of steps, and one episode step by step.
import { type App, estimateIndex, stepColour } from "./app";
import { colour, ratio } from "./colour";
import { diff, isRevision } from "./diff";
import { h, s, show, signed } from "./dom";
import { KIND_NAMES, KIND_SIGNS } from "./model";
import { boardPicture, findBoard, findPage, pagePicture } from "./pictures";

const ARROWS = { closer: "▲", away: "▼", lost: "✕", same: "" } as const;

export function stripsPanel(app: App): HTMLElement {
  const { model, state } = app;
  const estimate = estimateIndex(app);
  return h("section", { class: "panel strips" },
    h("header", {}, h("h2", {}, "Episodes"),
      h("span", { class: "note" }, "a cell is a step, coloured by advantage; ▲ closer to success, ▼ further away, ✕ success no longer seen")),
    h("table", { class: model.episodes(state.group).some((e) => model.length(e) > 24) ? "narrow" : "" }, h("tbody", {}, ...model.episodes(state.group).map((e) => {
      const cells = [];
      for (let t = 0; t < model.length(e); t++) {
        const step = model.first(e) + t;
        const value = model.value(estimate, state.part, step);
        const progress = model.progress(estimate, step);
        cells.push(h("button", {
          class: "cell", style: `background:${stepColour(app, step)}`,
          "data-step": step, "data-advantage": value, tabindex: -1, onclick: () => app.set({ episode: e, t }),
          title: `step ${t}: ${model.action(step)}\nadvantage ${signed(value)}${progress ? `, ${PROGRESS[progress]}` : ""}`,
        }, progress ? ARROWS[progress] : ""));
      }
      return h("tr", { "data-episode": e },
        h("th", {}, h("button", { class: `name ${model.kind(e)}`, onclick: () => app.set({ episode: e, t: 0 }) },
          `${KIND_SIGNS[model.kind(e)]} ${model.member(e)}`)),
        h("td", { class: "reward", title: "return" }, show(model.reward(e))),
        h("td", { class: "cells" }, ...cells));
    }))));
}

// Marks the chosen episode and step, on a panel made before.
export function showPlace(app: App, panel: HTMLElement): void {
  const { model, state } = app;
  panel.querySelectorAll(".now, .on").forEach((element) => element.classList.remove("now", "on"));
  panel.querySelector(`tr[data-episode="${state.episode}"]`)?.classList.add("on");
  if (state.episode >= 0 && state.t < model.length(state.episode)) {
    panel.querySelector(`[data-step="${model.first(state.episode) + state.t}"]`)?.classList.add("now");
  }
}

const PROGRESS = { closer: "closer to success", away: "further from success", lost: "success no longer seen", same: "as far as before" } as const;

export function stepperPanel(app: App): HTMLElement {
  const { model, state } = app;
  const e = state.episode;
  if (e < 0) return h("section", { class: "panel stepper" }, h("p", {}, "This group has no episode."));
  const length = model.length(e), t = Math.min(state.t, length), step = model.first(e) + t;
  const move = (to: number) => app.set({ t: Math.max(0, Math.min(length, to)) });
  const button = (label: string, to: number, title: string) => h("button", { onclick: () => move(to), title, disabled: to < 0 || to > length }, label);
  const ended = t >= length;
  return h("section", { class: "panel stepper", "data-episode": e, "data-t": t },
    h("header", {},
      h("h2", {}, `Episode ${model.member(e)}`),
      h("span", { class: `kind ${model.kind(e)}` }, `${KIND_SIGNS[model.kind(e)]} ${KIND_NAMES[model.kind(e)]}`),
      h("span", { class: "note" }, `return ${show(model.reward(e))}`),
      h("span", { class: "buttons" }, button("|◀", 0, "first step (Home)"), button("◀", t - 1, "step back (←)"),
        h("b", {}, ended ? "end" : `step ${t}`), h("span", { class: "note" }, `of ${length}`), button("▶", t + 1, "step on (→)"), button("▶|", length, "end (End)"))),
    storyLine(app, e),
    h("div", {}, chart(app, e), h("p", { class: "note" }, "bars: advantage of each step; line: observed distance to success, the upper edge is success")),
    ended ? h("p", { class: "action" }, model.text(model.doc.episodes.failure[e]) || `The episode ended: ${KIND_NAMES[model.kind(e)]}.`) : actionLine(app, step),
    h("div", { class: "views" },
      observation(app, e, t, ended ? "what the agent read last" : "what the agent read"),
      ended ? null : observation(app, e, t + 1, "what came of it")),
    ended ? null : advantages(app, step),
    ended ? null : comparison(app, step),
    h("details", {}, h("summary", {}, "State keys"),
      h("dl", {}, ...Object.entries(model.keys(e, t)).flatMap(([name, key]) => [h("dt", {}, name), h("dd", {}, key)]))));
}

// The sentence a reader came for: which steps helped.
function storyLine(app: App, e: number): HTMLElement {
  const { model } = app;
  const estimate = estimateIndex(app);
  const steps = model.stepsOf(e);
  const of = (kind: string) => steps.filter((step) => model.progress(estimate, step) === kind);
  const chips = (list: number[], name: string) => list.map((step) => h("button", {
    class: `chip ${name}`, "data-step": step, onclick: () => app.set({ t: model.t(step) }), title: model.action(step),
  }, String(model.t(step))));
  const closer = of("closer"), away = of("away"), lost = of("lost");
  if (steps.every((step) => model.progress(estimate, step) === null)) {
    return h("p", { class: "story" }, "No episode of this group was seen to reach success from these states, so the graph shows no progress here.");
  }
  return h("p", { class: "story" },
    closer.length > 0 ? h("span", {}, "Steps that made progress: ", ...chips(closer, "closer")) : "No step made progress.",
    away.length > 0 ? h("span", {}, " Steps back: ", ...chips(away, "away")) : null,
    lost.length > 0 ? h("span", {}, " Success lost from sight at: ", ...chips(lost, "lost")) : null);
}

function actionLine(app: App, step: number): HTMLElement {
  const { model } = app;
  const estimate = estimateIndex(app), e = model.episodeOf[step], t = model.t(step);
  const graph = model.graph(estimate, model.groupOf(e));
  const distance = (node: number | null) => node === null ? "unknown" : graph.distance[node] === null ? "none seen" : show(graph.distance[node]);
  const before = model.trueDistance(e, t), after = model.trueDistance(e, t + 1);
  const exact = (d: number | null) => d === null ? "?" : d === Infinity ? "dead" : show(d);
  return h("p", { class: "action" },
    h("code", {}, model.action(step)),
    model.doc.steps.valid[step] ? null : h("em", { class: "invalid" }, "not valid"),
    h("span", { class: "note" }, `reward ${show(model.doc.steps.reward[step])}`),
    h("span", { class: `moved ${model.progress(estimate, step) ?? ""}`, title: "fewest observed steps to success, before and after" },
      `observed distance ${distance(model.nodeBefore(estimate, step))} → ${distance(model.nodeAfter(estimate, step))}`),
    before !== null || after !== null ? h("span", { class: "note", title: "from the environment" }, `true distance ${exact(before)} → ${exact(after)}`) : null);
}

// Advantages along the episode as bars, with the observed distance to success as a line.
function chart(app: App, e: number): SVGElement {
  const { model, state } = app;
  const estimate = estimateIndex(app), n = model.length(e);
  const width = Math.max(240, n * 16), height = 84, middle = 42;
  const scale = model.scale(estimate, state.part, model.groupOf(e));
  const graph = model.graph(estimate, model.groupOf(e));
  const far = Math.max(1, ...graph.distance.map((d) => d ?? 0));
  const svg = s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": "advantages along the episode" });
  const slot = width / Math.max(1, n);
  let line = "", pen = false;
  for (let t = 0; t < n; t++) {
    const step = model.first(e) + t, value = model.value(estimate, state.part, step), size = Math.max(1, Math.abs(ratio(value, scale)) * (middle - 4));
    svg.append(s("rect", {
      x: t * slot + 1, width: Math.max(1, slot - 2), y: value >= 0 ? middle - size : middle, height: size, fill: stepColour(app, step),
      class: t === state.t ? "bar now" : "bar", onclick: () => app.set({ t }),
    }, s("title", {}, `step ${t}: ${model.action(step)}, ${signed(value)}`)));
    const node = model.nodeBefore(estimate, step), d = node === null ? null : graph.distance[node];
    if (d === null) pen = false;
    else {
      line += `${pen ? "L" : "M"}${(t * slot + slot / 2).toFixed(1)} ${(6 + (height - 12) * (d / far)).toFixed(1)}`;
      pen = true;
    }
  }
  svg.append(s("line", { x1: 0, x2: width, y1: middle, y2: middle, class: "zero" }));
  if (line) svg.append(s("path", { d: line, class: "distance" }, s("title", {}, "observed steps to success; the upper edge is success")));
  return svg;
}

function observation(app: App, e: number, t: number, title: string): HTMLElement {
  const { model, state } = app;
  const text = model.observation(e, t);
  const board = findBoard(text), page = board ? null : findPage(text);
  const drawn = (board || page) && state.view === "picture";
  const changes = !drawn && t > 0 ? diff(model.observation(e, t - 1), text) : [];
  const pieces = isRevision(changes) && changes.length > 0 ? changes : [{ kind: "same" as const, text }];
  const header = h("header", {}, h("h3", {}, title),
    board || page ? h("button", { class: "small", onclick: () => app.set({ view: state.view === "picture" ? "text" : "picture" }), title: "picture or text (p)" }, state.view === "picture" ? "text" : "picture") : null,
    pieces.length > 1 ? h("span", { class: "note" }, "changes since the step before are marked") : null);
  if (drawn) {
    return h("figure", { class: board ? "drawn" : "" }, header, board
      ? h("div", {}, board.before.trim() ? h("pre", {}, board.before) : null, boardPicture(board.cells), board.after.trim() ? h("pre", {}, board.after) : null)
      : pagePicture(page!));
  }
  return h("figure", {}, header, h("pre", { class: "observation" }, ...pieces.map((piece) =>
    piece.kind === "same" ? piece.text : h(piece.kind === "added" ? "ins" : "del", {}, piece.text))));
}

// Every stored estimate beside the step.
function advantages(app: App, step: number): HTMLElement {
  const { model, state } = app;
  const group = model.groupOf(model.episodeOf[step]);
  return h("table", { class: "numbers" },
    h("thead", {}, h("tr", {}, ...["estimator", "", "advantage", "step", "episode", "return", "peers"].map((name) => h("th", {}, name)))),
    h("tbody", {}, ...model.doc.estimates.map((estimate, i) => {
      const value = model.value(i, state.part, step), share = ratio(value, model.scale(i, state.part, group));
      const peers = estimate.comparison && estimate.comparison[step] !== null ? peerCount(app, i, step) : null;
      return h("tr", { class: i === estimateIndex(app) ? "on" : "", "data-estimate": estimate.name, onclick: () => app.set({ estimate: estimate.name }) },
        h("th", {}, estimate.name),
        h("td", { class: "bar" }, h("i", { style: `background:${colour(share)};width:${50 * Math.abs(share)}%;margin-left:${share < 0 ? 50 - 50 * Math.abs(share) : 50}%` })),
        h("td", { class: "total" }, signed(estimate.advantage[step])),
        h("td", {}, signed(estimate.step_advantage?.[step])),
        h("td", {}, signed(estimate.episode_advantage?.[step])),
        h("td", {}, show(estimate.step_return?.[step])),
        h("td", {}, peers === null ? "–" : peers === 1 ? "alone" : String(peers)));
    })));
}

function peerCount(app: App, estimate: number, step: number): number {
  const { model } = app;
  const column = model.doc.estimates[estimate].comparison!;
  let count = 0;
  for (const e of model.episodes(model.groupOf(model.episodeOf[step]))) {
    for (let i = model.first(e); i < model.first(e) + model.length(e); i++) if (column[i] === column[step]) count++;
  }
  return count;
}

// Why the estimator says so: what the group did in the same state and where it led.
function comparison(app: App, step: number): HTMLElement | null {
  const { model, state } = app;
  const estimate = estimateIndex(app), group = model.groupOf(model.episodeOf[step]);
  const node = model.nodeBefore(estimate, step);
  if (node === null) return null;
  const graph = model.graph(estimate, group);
  const choices = model.choices(estimate, group, node);
  const untried = model.admissible(model.episodeOf[step], model.t(step)).filter((action) => !choices.some((choice) => choice.action === action));
  const rows = choices.map((choice) => {
    const ends = [...new Set(choice.steps.map((i) => model.nodeAfter(estimate, i)))];
    const mean = model.mean(estimate, state.part, choice.steps);
    const next = choice.steps.find((i) => i > step) ?? choice.steps[0];
    return h("tr", { class: choice.steps.includes(step) ? "on" : "", onclick: () => app.set({ episode: model.episodeOf[next], t: model.t(next) }) },
      h("td", {}, h("i", { class: "swatch", style: `background:${colour(ratio(mean, model.scale(estimate, state.part, group)))}` }), h("code", {}, choice.action)),
      h("td", {}, String(choice.steps.length)), h("td", {}, signed(mean)),
      h("td", {}, ends.map((end) => end === null ? "?" : graph.marks[end] & 2 ? "success" : graph.distance[end] === null ? "none seen" : show(graph.distance[end])).join(", ")));
  });
  return h("div", { class: "choices" },
    h("h3", {}, `What the group did in this state (${graph.visits[node]} visits)`),
    h("table", {}, h("thead", {}, h("tr", {}, ...["action", "times", "mean advantage", "steps to success after"].map((name) => h("th", {}, name)))),
      h("tbody", {}, ...rows)),
    untried.length > 0 ? h("p", { class: "note", title: untried.join("\n") }, `never tried here: ${untried.slice(0, 6).join(", ")}${untried.length > 6 ? `, and ${untried.length - 6} more` : ""}`) : null);
}
