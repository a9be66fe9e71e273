// What the views share: the model, the state, and how a state changes.
import { Model } from "./model";
import type { State } from "./state";
import { colour, ranks, ratio } from "./colour";

export interface App {
  model: Model;
  state: State;
  set(change: Partial<State>): void;
}

export function estimateIndex(app: Pick<App, "model" | "state">, name = app.state.estimate): number {
  const found = app.model.doc.estimates.findIndex((e) => e.name === name);
  return found < 0 ? 0 : found;
}

// Colour shares of the group's edges under the chosen mode, in [-1, 1], in the order of Model.edges.
export function edgeShares(app: App): { mean: number; share: number }[] {
  const { model, state } = app;
  const estimate = estimateIndex(app);
  const edges = model.edges(estimate, state.group);
  const means = edges.map((edge) => model.mean(estimate, state.part, edge.steps));
  const shares = new Array<number>(edges.length).fill(0);
  if (state.colour === "value") {
    const scale = model.scale(estimate, state.part, state.group);
    means.forEach((mean, i) => { shares[i] = ratio(mean, scale); });
  } else {
    const byNode = new Map<number, number[]>();
    edges.forEach((edge, i) => byNode.set(edge.from, [...(byNode.get(edge.from) ?? []), i]));
    for (const list of byNode.values()) {
      const values = list.map((i) => means[i]);
      if (state.colour === "rank") {
        ranks(values).forEach((rank, k) => { shares[list[k]] = rank; });
      } else {
        const scale = Math.max(...values.map(Math.abs));
        list.forEach((i) => { shares[i] = ratio(means[i], scale); });
      }
    }
  }
  return edges.map((_, i) => ({ mean: means[i], share: shares[i] }));
}

export function stepColour(app: App, step: number): string {
  const { model, state } = app;
  const estimate = estimateIndex(app);
  const group = model.groupOf(model.episodeOf[step]);
  return colour(ratio(model.value(estimate, state.part, step), model.scale(estimate, state.part, group)));
}

export function goToStep(app: App, step: number): void {
  const episode = app.model.episodeOf[step];
  app.set({ tab: "group", group: app.model.groupOf(episode), episode, t: app.model.t(step) });
}
