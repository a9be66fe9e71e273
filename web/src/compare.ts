// Two estimators side by side: a scatter of their advantages and the steps on which they disagree.
import { type App, estimateIndex, goToStep } from "./app";
import { ranks } from "./colour";
import { h, percent, s, select, show, signed } from "./dom";

const POINTS = 4000, LISTED = 60;

export function comparePanel(app: App): HTMLElement {
  const { model, state } = app;
  if (model.doc.estimates.length < 2) {
    return h("section", { class: "panel" }, h("h2", {}, "Compare"), h("p", {}, "This recording holds one estimate. Add another with ",
      h("code", {}, `lodestep credit --run ${model.doc.name} --estimator NAME [--matcher NAME]`), " and open it again."));
  }
  const a = estimateIndex(app);
  const named = model.doc.estimates.findIndex((e) => e.name === state.other);
  const b = named >= 0 && named !== a ? named : a === 0 ? 1 : 0;
  const steps: number[] = [];
  for (let g = 0; g < model.groupCount; g++) {
    if (state.scope === "group" && g !== state.group) continue;
    for (const e of model.episodes(g)) {
      if (model.kind(e) === "failed") continue;
      for (let t = 0; t < model.length(e); t++) steps.push(model.first(e) + t);
    }
  }
  const xs = steps.map((i) => model.value(a, state.part, i)), ys = steps.map((i) => model.value(b, state.part, i));
  const rx = ranks(xs), ry = ranks(ys);
  const opposite = steps.map((_, k) => k).filter((k) => xs[k] * ys[k] < 0);
  const disagreements = (opposite.length > 0 ? opposite : steps.map((_, k) => k)).sort((i, j) => Math.abs(rx[j] - ry[j]) - Math.abs(rx[i] - ry[i])).slice(0, LISTED);
  const decided = steps.filter((_, k) => xs[k] !== 0 && ys[k] !== 0).length;
  const name = (i: number) => model.doc.estimates[i].name;
  return h("section", { class: "panel compare" },
    h("header", {}, h("h2", {}, "Compare"),
      select("with", "other", name(b), model.doc.estimates.filter((_, i) => i !== a).map((e) => [e.name, e.name]), (other) => app.set({ other })),
      select("steps of", "scope", state.scope, [["group", "this group"], ["run", "the whole run"]], (scope) => app.set({ scope: scope as "group" | "run" }))),
    h("dl", { class: "facts" },
      h("dt", {}, "steps"), h("dd", {}, String(steps.length)),
      h("dt", {}, "Pearson"), h("dd", { id: "pearson" }, show(pearson(xs, ys))),
      h("dt", {}, "Spearman"), h("dd", {}, show(pearson(rx, ry))),
      h("dt", {}, "same sign"), h("dd", {}, decided > 0 ? percent((decided - opposite.length) / decided) : "–"),
      h("dt", {}, "opposite signs"), h("dd", { id: "opposite" }, String(opposite.length))),
    h("div", { class: "columns" },
      scatter(app, steps, xs, ys, name(a), name(b)),
      h("div", { class: "list" },
        h("h3", {}, opposite.length > 0 ? "Opposite signs, strongest first" : "Furthest apart in rank"),
        h("table", {}, h("thead", {}, h("tr", {}, ...["group", "episode", "step", "action", name(a), name(b)].map((text) => h("th", {}, text)))),
          h("tbody", {}, ...disagreements.map((k) => {
            const e = model.episodeOf[steps[k]];
            return h("tr", { "data-step": steps[k], onclick: () => goToStep(app, steps[k]) },
              h("td", {}, model.task(model.groupOf(e))), h("td", {}, String(model.member(e))), h("td", {}, String(model.t(steps[k]))),
              h("td", {}, h("code", {}, model.action(steps[k]))), h("td", {}, signed(xs[k])), h("td", {}, signed(ys[k])));
          }))))));
}

export function pearson(xs: number[], ys: number[]): number | null {
  const n = xs.length, mx = xs.reduce((p, x) => p + x, 0) / n, my = ys.reduce((p, y) => p + y, 0) / n;
  let xy = 0, xx = 0, yy = 0;
  for (let i = 0; i < n; i++) {
    xy += (xs[i] - mx) * (ys[i] - my);
    xx += (xs[i] - mx) ** 2;
    yy += (ys[i] - my) ** 2;
  }
  return xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : null;
}

function scatter(app: App, steps: number[], xs: number[], ys: number[], a: string, b: string): SVGElement {
  const size = 420, pad = 44;
  const mx = Math.max(1e-12, ...sizes(xs)), my = Math.max(1e-12, ...sizes(ys));
  const x = (v: number) => pad + (size - 2 * pad) * (v / mx + 1) / 2, y = (v: number) => size - pad - (size - 2 * pad) * (v / my + 1) / 2;
  const svg = s("svg", { class: "plot", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": `${b} against ${a}` },
    s("rect", { x: pad, y: pad, width: (size - 2 * pad) / 2, height: (size - 2 * pad) / 2, class: "disagree" }),
    s("rect", { x: size / 2, y: size / 2, width: (size - 2 * pad) / 2, height: (size - 2 * pad) / 2, class: "disagree" }),
    s("line", { x1: pad, x2: size - pad, y1: y(0), y2: y(0) }), s("line", { x1: x(0), x2: x(0), y1: pad, y2: size - pad }),
    s("text", { x: size - pad, y: size - 14, "text-anchor": "end" }, `${a}, ±${show(mx)}`),
    s("text", { x: 14, y: pad - 10 }, `${b}, ±${show(my)}`));
  const stride = Math.ceil(steps.length / POINTS);
  for (let k = 0; k < steps.length; k += stride) {
    svg.append(s("circle", { cx: x(xs[k]), cy: y(ys[k]), r: 3.2, class: xs[k] * ys[k] < 0 ? "point against" : "point", onclick: () => goToStep(app, steps[k]) },
      s("title", {}, `${app.model.action(steps[k])}: ${signed(xs[k])}, ${signed(ys[k])}`)));
  }
  if (stride > 1) svg.append(s("text", { x: pad, y: size - 14 }, `every ${stride}th step`));
  return svg;
}

function* sizes(values: number[]): Generator<number> {
  let most = 0;
  for (const v of values) most = Math.max(most, Math.abs(v));
  yield most;
}
