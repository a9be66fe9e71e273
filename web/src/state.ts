// What is on the screen, and its form in the address: sharing the address shares the view.
import type { Part } from "./model";

export type Tab = "group" | "compare" | "states" | "calibration" | "run";
export type ColourMode = "value" | "state" | "rank";

export interface State {
  tab: Tab;
  group: number;
  episode: number;
  t: number;
  estimate: string; // by name, so that an address survives another order
  other: string;    // the second one of a comparison
  part: Part;
  colour: ColourMode;
  scope: "group" | "run";
  node: number;     // chosen in the list of states
  omega: number;    // discount of the calibration curve
  query: string;
  view: "picture" | "text";
  theme: "auto" | "light" | "dark";
}

export const DEFAULTS: State = {
  tab: "group", group: 0, episode: -1, t: 0, estimate: "", other: "", part: "step", colour: "value", scope: "group",
  node: -1, omega: 0.8, query: "", view: "picture", theme: "auto",
};

export function parseHash(hash: string, defaults: State): State {
  const state: Record<string, unknown> = { ...defaults };
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!(key in DEFAULTS)) continue;
    const value = typeof state[key] === "number" ? Number(text) : text;
    if (typeof value !== "number" || Number.isFinite(value)) state[key] = value;
  }
  return state as unknown as State;
}

export function formatHash(state: State, defaults: State): string {
  const words = new URLSearchParams();
  for (const key of Object.keys(DEFAULTS) as (keyof State)[]) {
    if (state[key] !== defaults[key] || key === "group" || key === "episode" || key === "t") words.set(key, String(state[key]));
  }
  return "#" + words.toString();
}
