// Does the graph's value of a state foretell success? omega^distance against how often success followed.
import { type App, estimateIndex } from "./app";
import { h, percent, s, select, show } from "./dom";

const BINS = 10;

export interface Bin { visits: number; successes: number; value: number }

// Pairs of (episode, state visited), as lodestep plot counts them.
export function calibrationBins(app: App): Bin[] {
  const { model, state } = app;
  const estimate = estimateIndex(app);
  const bins = Array.from({ length: BINS }, () => ({ visits: 0, successes: 0, value: 0 }));
  for (let g = 0; g < model.groupCount; g++) {
    if (state.scope === "group" && g !== state.group) continue;
    const graph = model.graph(estimate, g);
    for (const e of model.episodes(g)) {
      const visited = new Set<number>();
      for (let t = 0; t < model.length(e); t++) {
        const node = model.nodeBefore(estimate, model.first(e) + t);
        if (node !== null) visited.add(node);
      }
      for (const node of visited) {
        const d = graph.distance[node], value = d === null ? 0 : state.omega ** d;
        const bin = bins[Math.min(BINS - 1, Math.floor(value * BINS))];
        bin.visits++;
        bin.value += value;
        if (model.kind(e) === "success") bin.successes++;
      }
    }
  }
  return bins;
}

function wilson(successes: number, n: number): [number, number] {
  const z = 1.959963984540054, p = successes / n;
  const centre = p + z * z / (2 * n), spread = z * Math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)), scale = 1 + z * z / n;
  return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
}

export function calibrationPanel(app: App): HTMLElement {
  const { state } = app;
  const bins = calibrationBins(app).filter((bin) => bin.visits > 0);
  const total = bins.reduce((sum, bin) => sum + bin.visits, 0);
  const error = bins.reduce((sum, bin) => sum + Math.abs(bin.value - bin.successes), 0) / Math.max(1, total);
  const size = 420, pad = 48;
  const x = (v: number) => pad + (size - 2 * pad) * v, y = (v: number) => size - pad - (size - 2 * pad) * v;
  const svg = s("svg", { class: "plot", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": "calibration" },
    s("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), class: "ideal" }),
    s("path", { d: `M${x(0)} ${y(1)}V${y(0)}H${x(1)}`, class: "frame" }),
    ...[0, 0.5, 1].flatMap((v) => [
      s("text", { x: x(v), y: y(0) + 16, "text-anchor": "middle" }, String(v)), s("text", { x: x(0) - 8, y: y(v) + 4, "text-anchor": "end" }, String(v))]),
    s("text", { x: x(0.5), y: size - 8, "text-anchor": "middle" }, "value of the state in the graph, ω^distance"),
    s("text", { x: 12, y: pad - 22 }, "share of visits that ended in success"));
  svg.append(s("path", { class: "curve", d: bins.map((bin, i) => `${i ? "L" : "M"}${x(bin.value / bin.visits)} ${y(bin.successes / bin.visits)}`).join("") }));
  for (const bin of bins) {
    const [low, high] = wilson(bin.successes, bin.visits), at = x(bin.value / bin.visits);
    svg.append(s("line", { x1: at, x2: at, y1: y(low), y2: y(high), class: "interval" }),
      s("circle", { cx: at, cy: y(bin.successes / bin.visits), r: 3 + 6 * Math.sqrt(bin.visits / total), class: "point" },
        s("title", {}, `${bin.visits} visits, ${percent(bin.successes / bin.visits)} succeeded`)));
  }
  const slider = h("input", { type: "range", min: 0.05, max: 1, step: 0.05, value: state.omega, "aria-label": "omega", onchange: () => app.set({ omega: Number(slider.value) }) });
  return h("section", { class: "panel calibration" },
    h("header", {}, h("h2", {}, "Calibration"),
      select("states of", "scope", state.scope, [["group", "this group"], ["run", "the whole run"]], (scope) => app.set({ scope: scope as "group" | "run" })),
      h("label", { class: "field" }, h("span", {}, `ω = ${state.omega}`), slider),
      h("span", { class: "note" }, `expected calibration error ${show(error)} over ${total} visits`)),
    h("div", { class: "columns" }, svg,
      h("div", { class: "list" }, h("table", {}, h("thead", {}, h("tr", {}, ...["mean value", "visits", "succeeded", "95 % interval"].map((text) => h("th", {}, text)))),
        h("tbody", {}, ...bins.map((bin) => {
          const [low, high] = wilson(bin.successes, bin.visits);
          return h("tr", {}, h("td", {}, show(bin.value / bin.visits)), h("td", {}, String(bin.visits)), h("td", {}, percent(bin.successes / bin.visits)), h("td", {}, `${percent(low)} to ${percent(high)}`));
        }))),
        h("p", { class: "note" }, "Above the diagonal the group does better than the value says; below it, the graph promises more than the group keeps."))));
}
