// The viewer: reads the document that stands in the page, and draws what the address says.
import { type App, estimateIndex, goToStep } from "./app";
import { calibrationPanel } from "./calibration";
import { useDark } from "./colour";
import { comparePanel } from "./compare";
import { clamp, h, select } from "./dom";
import { showPlace, stepperPanel, stripsPanel } from "./episode";
import { graphPanel, showWay } from "./graph";
import { groupList } from "./groups";
import { Model, type Part, type ViewDocument } from "./model";
import { runPanel } from "./run";
import { type ColourMode, DEFAULTS, formatHash, parseHash, type State, type Tab } from "./state";
import { statesPanel } from "./states";

const TABS: [Tab, string][] = [["group", "Group"], ["compare", "Compare"], ["states", "States"], ["calibration", "Calibration"], ["run", "Run"]];
const PARTS: [Part, string][] = [["step", "step part"], ["total", "whole"], ["episode", "episode part"]];
const COLOURS: [ColourMode, string][] = [["value", "value in the group"], ["state", "value in the state"], ["rank", "rank in the state"]];
const KEYS: [string, string][] = [
  ["← →", "step back and on"], ["Home End", "first step, end"], ["↑ ↓", "episode"], ["[ ]", "group"], ["n N", "next, previous step that made progress"],
  ["e", "next estimator"], ["a", "next part of the advantage"], ["m", "next colour mode"], ["p", "picture or text"], ["1 … 5", "tabs"],
  ["/", "search"], ["d", "dark or light"], ["?", "this list"],
];

class Viewer implements App {
  readonly model: Model;
  state: State;
  private readonly defaults: State;
  private readonly root: HTMLElement;
  private list = { key: "", element: h("nav") };
  private view = { key: "", main: h("main") };
  private readonly help = h("dialog", { class: "help" }, h("h2", {}, "Keys"), h("dl", {}, ...KEYS.flatMap(([key, text]) => [h("dt", {}, key), h("dd", {}, text)])),
    h("form", { method: "dialog" }, h("button", {}, "close")));

  constructor(doc: ViewDocument, root: HTMLElement) {
    this.model = new Model(doc);
    this.root = root;
    this.defaults = { ...DEFAULTS, group: this.mostTelling(), estimate: doc.estimates[0]?.name ?? "" };
    this.state = this.tidy(parseHash(location.hash, this.defaults));
    document.title = `${doc.name}: Lodestep viewer`;
    document.body.append(this.help);
    addEventListener("hashchange", () => {
      if (location.hash === formatHash(this.state, this.defaults)) return;
      this.state = this.tidy(parseHash(location.hash, this.defaults));
      this.draw();
    });
    addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    this.draw();
  }

  set(change: Partial<State>): void {
    const before = this.state;
    this.state = this.tidy({ ...before, ...change });
    const place = formatHash(this.state, this.defaults);
    // Steps replace the address; a new group, episode or tab is a place to come back to.
    const turned = before.tab !== this.state.tab || before.group !== this.state.group || before.episode !== this.state.episode;
    if (turned) history.pushState(null, "", place);
    else history.replaceState(null, "", place);
    this.draw();
  }

  // A group where some succeed and some fail says most; else the first.
  private mostTelling(): number {
    let best = 0, most = -1;
    for (let g = 0; g < this.model.groupCount; g++) {
      const { episodes, successes } = this.model.standing(g);
      const mixed = Math.min(successes, episodes - successes);
      if (mixed > most) [best, most] = [g, mixed];
    }
    return best;
  }

  // Whatever the address said, point at things that exist. A group opens at the unsuccessful episode that made
  // most progress.
  private tidy(state: State): State {
    const { model } = this;
    const out = { ...state, group: clamp(state.group, 0, model.groupCount - 1) };
    if (out.episode < 0 || out.episode >= model.episodeCount || model.groupOf(out.episode) !== out.group) {
      const episodes = model.episodes(out.group);
      const failed = episodes.filter((e) => model.kind(e) !== "success" && model.kind(e) !== "failed" && model.length(e) > 0);
      const progress = (e: number) => model.stepsOf(e).filter((step) => model.progress(estimateIndex({ model, state: out }), step) === "closer").length;
      out.episode = failed.map((e) => [progress(e), e]).sort((a, b) => b[0] - a[0] || a[1] - b[1])[0]?.[1] ?? episodes[0] ?? -1;
      if (state.episode >= 0) out.t = 0;
    }
    if (out.episode >= 0) out.t = clamp(out.t, 0, model.length(out.episode));
    if (!model.doc.estimates.some((e) => e.name === out.estimate)) out.estimate = this.defaults.estimate;
    return out;
  }

  private dark(): boolean {
    return this.state.theme === "dark" || (this.state.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  }

  private draw(): void {
    const { model, state } = this;
    useDark(this.dark());
    document.documentElement.dataset.theme = this.dark() ? "dark" : "light";
    const focus = document.activeElement?.id;
    const top = this.root.querySelector(".stepper")?.scrollTop ?? 0;
    const body = model.groupCount === 0 ? h("main", {}, h("section", { class: "panel" }, h("p", {}, "The recording holds no episode.")))
      : state.tab === "group" ? this.groupBody()
      : h("main", { "data-tab": state.tab }, this.panel());
    const next = [this.header(), this.groups(), body];
    if (this.root.childElementCount === 0) this.root.append(...next);
    else next.forEach((element, i) => { if (this.root.children[i] !== element) this.root.children[i].replaceWith(element); });
    const stepper = this.root.querySelector(".stepper");
    if (stepper) stepper.scrollTop = top;
    if (focus && document.activeElement?.id !== focus) document.getElementById(focus)?.focus();
  }

  // The list may be long: it is kept while nothing in it changes.
  private groups(): HTMLElement {
    const { query, group, tab } = this.state;
    const key = `${group} ${tab} ${query}`;
    if (this.list.key === key) return this.list.element;
    const top = this.list.element.querySelector("ol")?.scrollTop ?? 0;
    this.list = { key, element: groupList(this) };
    // A new list scrolls only once it stands in the page.
    queueMicrotask(() => { this.list.element.querySelector("ol")!.scrollTop = top; });
    return this.list.element;
  }

  // Graph and strips stay while a reader steps through: only what marks the place in them changes.
  private groupBody(): HTMLElement {
    const { group, estimate, part, colour } = this.state;
    const key = [group, estimate, part, colour, this.dark()].join(" ");
    if (this.view.key !== key) {
      const main = h("main", { "data-tab": "group" }, h("div", { class: "left" }, graphPanel(this), stripsPanel(this)), h("section"));
      this.view = { key, main };
    }
    const { main } = this.view;
    showWay(this, main);
    showPlace(this, main.querySelector(".strips")!);
    main.lastElementChild!.replaceWith(stepperPanel(this));
    return main;
  }

  private panel(): HTMLElement {
    switch (this.state.tab) {
      case "compare": return comparePanel(this);
      case "states": return statesPanel(this);
      case "calibration": return calibrationPanel(this);
      default: return runPanel(this);
    }
  }

  private header(): HTMLElement {
    const { model, state } = this;
    const { episodes, successes } = model.groupCount > 0 ? model.standing(state.group) : { episodes: 0, successes: 0 };
    return h("header", { class: "top" },
      h("h1", {}, "Lodestep"),
      h("span", { class: "where" }, h("b", {}, model.groupCount > 0 ? model.task(state.group) : model.doc.name), h("span", { class: "note" }, `${model.doc.info.env ?? ""} · ${successes} of ${episodes} solved`)),
      h("div", { class: "tabs", role: "tablist" }, ...TABS.map(([tab, name]) =>
        h("button", { role: "tab", "aria-selected": tab === state.tab, class: tab === state.tab ? "on" : "", "data-tab": tab, onclick: () => this.set({ tab }) }, name))),
      h("div", { class: "choices" },
        model.doc.estimates.length > 0 ? select("estimator", "estimate", state.estimate, model.doc.estimates.map((e) => [e.name, e.name]), (estimate) => this.set({ estimate })) : null,
        select("advantage", "part", state.part, PARTS, (part) => this.set({ part: part as Part })),
        select("colour", "colour", state.colour, COLOURS, (colour) => this.set({ colour: colour as ColourMode })),
        h("button", { class: "small", title: "dark or light (d)", onclick: () => this.toggleTheme() }, this.dark() ? "☀" : "☾"),
        h("button", { class: "small", title: "keys (?)", onclick: () => this.help.showModal() }, "?")));
  }

  private toggleTheme(): void { this.set({ theme: this.dark() ? "light" : "dark" }); }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const { model, state } = this;
    if (model.groupCount === 0) return;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.set({ t: state.t - 1 }), ArrowRight: () => this.set({ t: state.t + 1 }),
      Home: () => this.set({ t: 0 }), End: () => this.set({ t: Infinity }),
      ArrowUp: () => this.episode(-1), ArrowDown: () => this.episode(1),
      "[": () => this.set({ group: state.group - 1, episode: -1, t: 0, node: -1 }), "]": () => this.set({ group: state.group + 1, episode: -1, t: 0, node: -1 }),
      n: () => this.progress(1), N: () => this.progress(-1),
      e: () => this.set({ estimate: model.doc.estimates[(estimateIndex(this) + 1) % model.doc.estimates.length]?.name ?? "" }),
      a: () => this.set({ part: next(PARTS, state.part) }), m: () => this.set({ colour: next(COLOURS, state.colour) }),
      p: () => this.set({ view: state.view === "picture" ? "text" : "picture" }), d: () => this.toggleTheme(),
      "/": () => document.getElementById("search")?.focus(), "?": () => this.help.showModal(),
    };
    TABS.forEach(([tab], i) => { actions[String(i + 1)] = () => this.set({ tab }); });
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  private episode(by: number): void {
    const episodes = this.model.episodes(this.state.group);
    const at = clamp(episodes.indexOf(this.state.episode) + by, 0, episodes.length - 1);
    if (episodes[at] !== this.state.episode) this.set({ episode: episodes[at], t: 0 });
  }

  private progress(by: number): void {
    const { model, state } = this;
    const first = model.first(state.episode);
    for (let t = state.t + by; t >= 0 && t < model.length(state.episode); t += by) {
      if (model.progress(estimateIndex(this), first + t) === "closer") return goToStep(this, first + t);
    }
  }
}

function next<T>(list: [T, string][], now: T): T {
  return list[(list.findIndex(([key]) => key === now) + 1) % list.length][0];
}

const root = document.getElementById("app")!;
try {
  const text = document.getElementById("document")!.textContent!;
  const doc = JSON.parse(text) as ViewDocument;
  if (doc.format !== "lodestep-view/1") throw new Error(`the page holds a document of format ${doc.format}`);
  new Viewer(doc, root);
} catch (error) {
  root.append(h("main", {}, h("section", { class: "panel" }, h("h2", {}, "The recording cannot be shown"), h("p", {}, String(error)))));
}
