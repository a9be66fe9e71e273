// Which situations the matcher made one state, and their texts.
import { type App, estimateIndex } from "./app";
import { diff } from "./diff";
import { h, select, show } from "./dom";

const LISTED = 300;

export function statesPanel(app: App): HTMLElement {
  const { model, state } = app;
  const estimate = estimateIndex(app);
  const graph = model.graph(estimate, state.group);
  const texts = graph.id.map((_, v) => model.nodeTexts(estimate, state.group, v));
  const order = graph.id.map((_, v) => v).filter((v) => texts[v].length > 0).sort((a, b) => texts[b].length - texts[a].length || graph.visits[b] - graph.visits[a]);
  const merged = order.filter((v) => texts[v].length > 1).length;
  const chosen = state.node >= 0 && state.node < graph.id.length ? state.node : order[0] ?? -1;
  const matchers = [...new Map(model.doc.estimates.map((e) => [e.matcher, e.name] as [string, string]))];
  const current = model.estimate(estimate);
  return h("section", { class: "panel states" },
    h("header", {}, h("h2", {}, "States"),
      matchers.length > 1 ? select("matcher", "matcher", current?.matcher ?? "", matchers.map(([matcher]) => [matcher, matcher]),
        (matcher) => app.set({ estimate: matchers.find(([name]) => name === matcher)![1], node: -1 })) : h("span", { class: "note" }, `matcher ${current?.matcher ?? "exact"}`),
      h("span", { class: "note" }, `${order.length} states; ${merged} stand for several texts`)),
    h("div", { class: "columns" },
      h("div", { class: "list" }, h("table", {}, h("thead", {}, h("tr", {}, ...["state", "texts", "visits", "to success"].map((text) => h("th", {}, text)))),
        h("tbody", {}, ...order.slice(0, LISTED).map((v) => h("tr", { class: v === chosen ? "on" : "", "data-node": v, onclick: () => app.set({ node: v }) },
          h("td", {}, String(graph.id[v])), h("td", {}, String(texts[v].length)), h("td", {}, String(graph.visits[v])),
          h("td", {}, graph.distance[v] === null ? "none seen" : show(graph.distance[v]))))))),
      h("div", { class: "texts" }, ...(chosen < 0 ? [] : texts[chosen].map(({ text, count }, i) => h("figure", {},
        h("header", {}, h("h3", {}, i === 0 ? "most frequent text" : "differences to it"), h("span", { class: "note" }, count === 1 ? "read once" : `read ${count} times`)),
        h("pre", { class: "observation" }, ...(i === 0 ? [text] : diff(texts[chosen][0].text, text).map((piece) =>
          piece.kind === "same" ? piece.text : h(piece.kind === "added" ? "ins" : "del", {}, piece.text))))))))));
}
