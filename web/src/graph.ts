// The state graph of the group. Places come from the program; colours, sizes and marks are set here.
import type { App } from "./app";
import { edgeShares, estimateIndex, goToStep } from "./app";
import { colour } from "./colour";
import { clamp, h, s, show, signed } from "./dom";
import { DEAD, type Edge, type GroupGraph, OPEN, START, SUCCESS } from "./model";

const MARGIN = 50;
const SHAPE = 0.6; // height by width that the panel has room for

interface Place { x: number; y: number; r: number }

export function graphPanel(app: App): HTMLElement {
  const { model, state } = app;
  const estimate = estimateIndex(app);
  const graph = model.graph(estimate, state.group);
  const edges = model.edges(estimate, state.group);
  const shares = edgeShares(app);
  const most = Math.max(1, ...graph.visits);
  const across = Math.max(1, graph.columns - 1), down = Math.max(1, graph.rows - 1);
  const dy = clamp((SHAPE * (2 * MARGIN + 78 * across) - 2 * MARGIN) / down, 26, 84);
  const dx = clamp(((2 * MARGIN + dy * down) / SHAPE - 2 * MARGIN) / across, 78, 220);
  const width = 2 * MARGIN + across * dx, height = 2 * MARGIN + Math.max(0, graph.rows - 1) * dy;
  const size = dy < 36 ? 0.7 : 1;
  const places: Place[] = graph.id.map((_, v) => ({
    x: MARGIN + (graph.column[v] + graph.shift[v]) * dx, y: MARGIN + graph.row[v] * dy, r: size * (6 + 9 * Math.sqrt(graph.visits[v] / most)),
  }));
  const reached = graph.distance.filter((d) => d !== null) as number[];
  const world = s("g");
  world.append(axis(graph, places, dx), s("g", { class: "halos" }));
  const pairs = new Set(edges.map((edge) => edge.from * graph.id.length + edge.to));
  edges.forEach((edge, i) => world.append(edgeShape(app, edge, places, dx, shares[i], pairs.has(edge.to * graph.id.length + edge.from))));
  graph.id.forEach((_, v) => world.append(nodeShape(app, graph, v, places[v])));
  const svg = s("svg", { id: "graph", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "state graph of the group" }, world);
  const canvas = zoomable(svg, world);
  return h("section", { class: "panel graph" },
    h("header", {},
      h("h2", {}, "State graph"),
      h("span", { class: "note" }, `${graph.id.length} states, ${edges.length} transitions` +
        (reached.length > 0 ? `; success is at the right, ${Math.max(...reached)} steps at most from a state that saw it` : "; no episode reached success"))),
    canvas, legend());
}

function axis(graph: GroupGraph, places: Place[], dx: number): SVGElement {
  const g = s("g", { class: "axis" });
  const columns = new Map<number, number>();
  let bottom = 0, lostTop = Infinity;
  graph.distance.forEach((d, v) => {
    if (d !== null) {
      columns.set(graph.column[v], d);
      bottom = Math.max(bottom, places[v].y);
    } else {
      lostTop = Math.min(lostTop, places[v].y);
    }
  });
  for (const [column, d] of columns) {
    const x = MARGIN + column * dx;
    g.append(s("line", { x1: x, x2: x, y1: 28, y2: bottom + 14 }), s("text", { x, y: 22, "text-anchor": "middle" }, d === 0 ? "success" : show(d)));
  }
  if (columns.size > 0) g.append(s("text", { x: 2, y: 8, class: "caption" }, "observed steps to success"));
  if (lostTop < Infinity) g.append(s("text", { x: 2, y: lostTop - 24, class: "caption" }, "no success observed from here"));
  return g;
}

function edgeShape(app: App, edge: Edge, places: Place[], columnWidth: number, { mean, share }: { mean: number; share: number }, twoWay: boolean): SVGElement {
  const { model } = app;
  const fill = colour(share);
  const width = 1.4 + Math.min(4.5, 1.1 * Math.sqrt(edge.steps.length - 1));
  const { path, tip } = edge.from === edge.to ? loop(places[edge.from]) : curve(places[edge.from], places[edge.to], columnWidth, twoWay, width);
  const actions = [...new Set(edge.steps.map((step) => model.action(step)))];
  const g = s("g", {
    class: "edge", "data-from": edge.from, "data-to": edge.to, "data-advantage": mean, "data-share": share, tabindex: -1,
    onclick: () => pick(app, edge.steps),
  },
    s("path", { d: path, class: "hit" }),
    s("path", { d: path, stroke: fill, "stroke-width": width, fill: "none", class: "line" }),
    s("path", { d: tip, fill, class: "tip" }),
    s("title", {}, `${actions.slice(0, 4).join(" | ")}${actions.length > 4 ? " | …" : ""}\n${edge.steps.length} steps, advantage ${signed(mean)}`));
  return g;
}

function curve(a: Place, b: Place, columnWidth: number, twoWay: boolean, width: number): { path: string; tip: string } {
  const dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy) || 1;
  const nx = -dy / length, ny = dx / length;
  const columns = Math.abs(dx) / columnWidth;
  const bend = twoWay ? 12 : dx <= 0 ? 18 + 4 * columns : columns > 1.5 ? 10 + 3 * columns : 0;
  const mx = (a.x + b.x) / 2 + nx * bend * 2, my = (a.y + b.y) / 2 + ny * bend * 2;
  const out = unit(mx - a.x, my - a.y), into = unit(b.x - mx, b.y - my);
  const size = 5 + width;
  const x1 = a.x + out[0] * a.r, y1 = a.y + out[1] * a.r;
  const tx = b.x - into[0] * (b.r + 1), ty = b.y - into[1] * (b.r + 1);
  const x2 = tx - into[0] * size * 0.8, y2 = ty - into[1] * size * 0.8;
  return { path: `M${round(x1)} ${round(y1)}Q${round(mx)} ${round(my)} ${round(x2)} ${round(y2)}`, tip: arrow(tx, ty, into, size) };
}

function loop(a: Place): { path: string; tip: string } {
  const top = a.y - a.r, reach = 20, x = a.r * 0.5;
  const into = unit(-0.5, 1);
  return {
    path: `M${round(a.x - x)} ${round(top + 2)}C${round(a.x - 15)} ${round(top - reach)} ${round(a.x + 15)} ${round(top - reach)} ${round(a.x + x + 2)} ${round(top - 3)}`,
    tip: arrow(a.x + x, top + 1.5, into, 6),
  };
}

function arrow(x: number, y: number, [ux, uy]: number[], size: number): string {
  const half = size * 0.45;
  return `M${round(x)} ${round(y)}L${round(x - ux * size - uy * half)} ${round(y - uy * size + ux * half)}L${round(x - ux * size + uy * half)} ${round(y - uy * size - ux * half)}Z`;
}

const unit = (x: number, y: number) => { const n = Math.hypot(x, y) || 1; return [x / n, y / n]; };
const round = (x: number) => Math.round(x * 10) / 10;

function nodeShape(app: App, graph: GroupGraph, v: number, { x, y, r }: Place): SVGElement {
  const marks = graph.marks[v], distance = graph.distance[v];
  const classes = ["node", marks & START && "start", marks & SUCCESS && "goal", marks & DEAD && "dead", marks & OPEN && "open"].filter(Boolean).join(" ");
  const label = marks & SUCCESS ? "★" : marks & DEAD ? "✕" : distance !== null ? show(distance) : marks & OPEN ? "?" : "";
  const names = [marks & START && "start", marks & SUCCESS && "success", marks & DEAD && "dead: no way to success", marks & OPEN && "no success observed, but something here or beyond was never tried"].filter(Boolean);
  return s("g", { class: classes, transform: `translate(${x} ${y})`, "data-node": v, onclick: () => pickNode(app, v) },
    marks & START ? s("circle", { r: r + 4, class: "ring" }) : null,
    s("circle", { r, class: "body" }),
    s("text", { "text-anchor": "middle", dy: "0.35em", "font-size": Math.max(8, r) }, label),
    s("title", {}, `state ${graph.id[v]}: ${graph.visits[v]} visits` + (distance !== null ? `, ${show(distance)} steps to success` : "") + (names.length > 0 ? `\n${names.join("\n")}` : "")));
}

// Another click on the same edge goes on to its next step.
function pick(app: App, steps: number[]): void {
  const { model, state } = app;
  const now = state.episode < 0 ? -1 : steps.indexOf(model.first(state.episode) + state.t);
  const own = steps.find((step) => model.episodeOf[step] === state.episode);
  goToStep(app, now >= 0 ? steps[(now + 1) % steps.length] : own ?? steps[0]);
}

function pickNode(app: App, v: number): void {
  const edges = app.model.edges(estimateIndex(app), app.state.group);
  const leaving = edges.filter((edge) => edge.from === v).flatMap((edge) => edge.steps).sort((a, b) => a - b);
  if (leaving.length > 0) return pick(app, leaving);
  const entering = edges.find((edge) => edge.to === v);
  if (entering) goToStep(app, entering.steps[0]);
}

// Marks the chosen episode's way and where its chosen step stands, on a panel made before.
export function showWay(app: App, panel: HTMLElement): void {
  const { model, state } = app;
  const svg = panel.querySelector("#graph")!, halos = svg.querySelector(".halos")!;
  halos.replaceChildren();
  svg.querySelectorAll(".on-way").forEach((shape) => shape.classList.remove("on-way"));
  svg.classList.toggle("has-episode", state.episode >= 0);
  if (state.episode < 0) return;
  const estimate = estimateIndex(app);
  const now = model.first(state.episode) + Math.min(state.t, model.length(state.episode) - 1);
  const shapes = svg.querySelectorAll(".edge");
  model.edges(estimate, state.group).forEach((edge, i) => {
    if (!edge.steps.some((step) => model.episodeOf[step] === state.episode)) return;
    shapes[i].classList.add("on-way");
    const d = shapes[i].querySelector(".line")!.getAttribute("d")!;
    halos.append(s("path", { d, class: edge.steps.includes(now) ? "halo now" : "halo" }));
  });
  const v = state.t < model.length(state.episode) ? model.nodeBefore(estimate, now) : model.nodeAfter(estimate, now);
  const node = v === null ? null : svg.querySelector(`[data-node="${v}"]`);
  if (!node) return;
  const r = Number(node.querySelector(".body")!.getAttribute("r")) + 7;
  halos.append(s("circle", { transform: node.getAttribute("transform"), r, class: "halo-node" }));
}

function legend(): HTMLElement {
  const mark = (symbol: string, name: string, text: string) => h("span", { class: "mark" }, h("i", { class: name }, symbol), text);
  return h("footer", { class: "legend" },
    h("span", { class: "ramp" }, "hurt", ...[-1, -0.5, -0.15, 0, 0.15, 0.5, 1].map((share) => h("i", { style: `background:${colour(share)}` })), "helped"),
    mark("3", "ringed", "start"), mark("★", "goal", "success"), mark("✕", "dead", "dead"), mark("?", "open", "unobserved beyond"),
    h("span", { class: "note" }, "number = observed steps to success; size = visits; wheel zooms, drag moves"));
}

function zoomable(svg: SVGElement, world: SVGElement): HTMLElement {
  let scale = 1, x = 0, y = 0;
  const place = () => world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  const point = (event: MouseEvent) => new DOMPoint(event.clientX, event.clientY).matrixTransform((svg as SVGGraphicsElement).getScreenCTM()!.inverse());
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = point(event as WheelEvent), factor = Math.exp(-(event as WheelEvent).deltaY * 0.0015);
    const next = Math.min(12, Math.max(0.5, scale * factor));
    x = at.x - (at.x - x) * next / scale;
    y = at.y - (at.y - y) * next / scale;
    scale = next;
    place();
  }, { passive: false });
  let from: DOMPoint | null = null;
  svg.addEventListener("pointerdown", (event) => { from = point(event as PointerEvent); });
  svg.addEventListener("pointermove", (event) => {
    if (!from || !(event as PointerEvent).buttons) return;
    const at = point(event as PointerEvent);
    x += at.x - from.x;
    y += at.y - from.y;
    from = at;
    place();
  });
  svg.addEventListener("dblclick", () => { scale = 1; x = y = 0; place(); });
  return h("div", { class: "canvas" }, svg);
}
