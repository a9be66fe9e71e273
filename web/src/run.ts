// The run as a whole: how it was made, what came of it, which estimates it holds.
import { type App } from "./app";
import { h, percent, show } from "./dom";

const NEARLY_ALL = 0.9;

export function runPanel(app: App): HTMLElement {
  const { model } = app;
  const counted = Array.from({ length: model.episodeCount }, (_, e) => e).filter((e) => model.kind(e) !== "failed");
  const solved = counted.filter((e) => model.kind(e) === "success").length;
  const silent = Array.from({ length: model.groupCount }, (_, g) => model.standing(g).noSignal).filter(Boolean).length;
  const invalid = model.doc.steps.valid.reduce((sum, ok) => sum + (ok ? 0 : 1), 0);
  const cut = counted.filter((e) => model.kind(e) === "truncated").length;
  const facts: [string, string][] = [
    ["groups", String(model.groupCount)], ["groups without signal", `${silent} (${percent(silent / Math.max(1, model.groupCount))})`],
    ["episodes", `${counted.length}` + (counted.length < model.episodeCount ? `, and ${model.episodeCount - counted.length} failed by infrastructure` : "")],
    ["success", `${solved} (${percent(solved / Math.max(1, counted.length))})`],
    ["out of steps", `${cut} (${percent(cut / Math.max(1, counted.length))})`],
    ["mean return", show(counted.reduce((sum, e) => sum + model.reward(e), 0) / Math.max(1, counted.length))],
    ["steps", String(model.stepCount)], ["invalid actions", `${invalid} (${percent(invalid / Math.max(1, model.stepCount))})`],
  ];
  const warnings = [
    counted.length > 0 && cut >= NEARLY_ALL * counted.length ? `${percent(cut / counted.length)} of the episodes ran out of steps: a larger budget may let some succeed.` : "",
    model.groupCount > 0 && silent >= NEARLY_ALL * model.groupCount ? `${percent(silent / model.groupCount)} of the groups score the same throughout: there is nothing to learn from them.` : "",
  ].filter((text) => text);
  return h("section", { class: "panel run" },
    h("header", {}, h("h2", {}, model.doc.name)),
    ...warnings.map((text) => h("p", { class: "warning" }, text)),
    h("div", { class: "columns" },
      h("div", {}, h("h3", {}, "What came of it"), h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]))),
      h("div", {}, h("h3", {}, "How it was made"), h("dl", { class: "facts" }, ...Object.entries(model.doc.info).filter(([name, value]) => value && name !== "tasks").flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])))),
    h("h3", {}, "Estimates"),
    h("table", {}, h("thead", {}, h("tr", {}, ...["name", "estimator", "matcher", "settings"].map((text) => h("th", {}, text)))),
      h("tbody", {}, ...model.doc.estimates.map((e) => h("tr", {}, h("td", {}, e.name), h("td", {}, e.estimator), h("td", {}, e.matcher), h("td", {}, h("code", {}, e.settings)))))));
}
