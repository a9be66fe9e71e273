// The document as the program writes it, and what the views ask of it.
type Column<T = number> = T[];

interface Situations {
  observation: Column;
  admissible: Column; // index into lists
  exact: Column;
  relevant: Column;
  stage: Column;
  distance: Column<number | null>; // true steps to success; -1 = none leads there
}

export interface Estimate {
  name: string;
  estimator: string;
  matcher: string;
  settings: string;
  graph: number;
  step_return: Column<number | null> | null;
  step_advantage: Column<number | null> | null;
  episode_advantage: Column<number | null> | null;
  advantage: Column;
  comparison: Column<number | null> | null;
}

export interface GroupGraph {
  columns: number;
  rows: number;
  id: Column;
  distance: Column<number | null>;
  visits: Column;
  marks: Column;
  column: Column;
  shift: Column;
  row: Column;
  from: Column<number | null>; // per step of the group
  to: Column<number | null>;
}

export interface ViewDocument {
  format: string;
  name: string;
  info: Record<string, string>;
  texts: string[];
  lists: number[][];
  groups: { id: Column; task: Column };
  episodes: {
    group: Column; member: Column; seed: Column<string>; status: Column; outcome: Column; truncated: Column;
    failure: Column; reward: Column; first: Column; steps: Column; last: Situations;
  };
  steps: Situations & { action: Column; valid: Column; reward: Column };
  estimates: Estimate[];
  graphs: { matcher: string; groups: GroupGraph[] }[];
}

export const START = 1, SUCCESS = 2, DEAD = 4, OPEN = 8;

// Which number of an estimate is meant; "step" falls back to the whole where an estimator has no step part.
export type Part = "step" | "total" | "episode";
export type Kind = "success" | "failure" | "truncated" | "stopped" | "failed";

export interface Edge {
  from: number;
  to: number;
  steps: number[]; // of the whole recording
}

// One action taken in a node by some steps of the group.
export interface Choice {
  action: string;
  steps: number[];
}

export class Model {
  readonly groupCount: number;
  readonly episodeCount: number;
  readonly stepCount: number;
  readonly episodeOf: Int32Array; // per step
  private readonly firstEpisode: number[] = []; // per group, and one past the last
  private readonly edgeCache = new Map<string, Edge[]>();
  private readonly scaleCache = new Map<string, number>();

  constructor(readonly doc: ViewDocument) {
    this.groupCount = doc.groups.id.length;
    this.episodeCount = doc.episodes.group.length;
    this.stepCount = doc.steps.action.length;
    this.episodeOf = new Int32Array(this.stepCount);
    for (let e = 0; e < this.episodeCount; e++) {
      if (this.firstEpisode.length <= doc.episodes.group[e]) this.firstEpisode.push(e);
      this.episodeOf.fill(e, this.first(e), this.first(e) + this.length(e));
    }
    this.firstEpisode.push(this.episodeCount);
  }

  text(id: number): string { return this.doc.texts[id]; }
  task(group: number): string { return this.text(this.doc.groups.task[group]); }

  episodes(group: number): number[] {
    const list: number[] = [];
    for (let e = this.firstEpisode[group]; e < this.firstEpisode[group + 1]; e++) list.push(e);
    return list;
  }
  groupOf(episode: number): number { return this.doc.episodes.group[episode]; }
  member(episode: number): number { return this.doc.episodes.member[episode]; }
  first(episode: number): number { return this.doc.episodes.first[episode]; }
  length(episode: number): number { return this.doc.episodes.steps[episode]; }
  stepsOf(episode: number): number[] { return Array.from({ length: this.length(episode) }, (_, t) => this.first(episode) + t); }
  // Position within its episode.
  t(step: number): number { return step - this.first(this.episodeOf[step]); }
  private groupStart(group: number): number {
    return this.firstEpisode[group] < this.episodeCount ? this.first(this.firstEpisode[group]) : 0;
  }

  kind(episode: number): Kind {
    const { outcome, status, truncated } = this.doc.episodes;
    if (this.text(status[episode]) !== "finished") return "failed";
    const end = this.text(outcome[episode]);
    if (end === "success" || end === "failure") return end;
    return truncated[episode] ? "truncated" : "stopped";
  }
  reward(episode: number): number { return this.doc.episodes.reward[episode]; }

  // Episodes of the group that count, how many succeeded, and whether all score the same.
  standing(group: number): { episodes: number; successes: number; noSignal: boolean } {
    const counted = this.episodes(group).filter((e) => this.kind(e) !== "failed");
    const rewards = counted.map((e) => this.reward(e));
    return {
      episodes: counted.length,
      successes: counted.filter((e) => this.kind(e) === "success").length,
      noSignal: rewards.every((r) => r === rewards[0]),
    };
  }

  // What the agent read before step t; t = length gives the last one.
  observation(episode: number, t: number): string {
    return this.text(t < this.length(episode)
      ? this.doc.steps.observation[this.first(episode) + t]
      : this.doc.episodes.last.observation[episode]);
  }
  private situation(episode: number, t: number): [Situations, number] {
    return t < this.length(episode) ? [this.doc.steps, this.first(episode) + t] : [this.doc.episodes.last, episode];
  }
  trueDistance(episode: number, t: number): number | null {
    const [table, row] = this.situation(episode, t);
    const distance = table.distance[row];
    return distance === -1 ? Infinity : distance;
  }
  keys(episode: number, t: number): { exact: string; relevant: string; stage: string } {
    const [table, row] = this.situation(episode, t);
    return { exact: this.text(table.exact[row]), relevant: this.text(table.relevant[row]), stage: this.text(table.stage[row]) };
  }
  admissible(episode: number, t: number): string[] {
    const [table, row] = this.situation(episode, t);
    return this.doc.lists[table.admissible[row]].map((id) => this.text(id));
  }
  action(step: number): string { return this.text(this.doc.steps.action[step]); }

  estimate(index: number): Estimate | null { return this.doc.estimates[index] ?? null; }
  graph(estimate: number, group: number): GroupGraph {
    return this.doc.graphs[this.estimate(estimate)?.graph ?? 0].groups[group];
  }
  nodeBefore(estimate: number, step: number): number | null {
    const group = this.groupOf(this.episodeOf[step]);
    return this.graph(estimate, group).from[step - this.groupStart(group)];
  }
  nodeAfter(estimate: number, step: number): number | null {
    const group = this.groupOf(this.episodeOf[step]);
    return this.graph(estimate, group).to[step - this.groupStart(group)];
  }

  value(estimate: number, part: Part, step: number): number {
    const e = this.estimate(estimate);
    if (!e) return 0;
    if (part === "step") return e.step_advantage?.[step] ?? e.advantage[step];
    if (part === "episode") return e.episode_advantage?.[step] ?? 0;
    return e.advantage[step];
  }
  // Largest size of a value in the group: what colours are relative to.
  scale(estimate: number, part: Part, group: number): number {
    const key = `${estimate} ${part} ${group}`;
    let most = this.scaleCache.get(key);
    if (most === undefined) {
      most = 0;
      for (const e of this.episodes(group)) {
        for (let i = this.first(e); i < this.first(e) + this.length(e); i++) most = Math.max(most, Math.abs(this.value(estimate, part, i)));
      }
      this.scaleCache.set(key, most);
    }
    return most;
  }

  edges(estimate: number, group: number): Edge[] {
    const key = `${this.estimate(estimate)?.graph ?? 0} ${group}`;
    let list = this.edgeCache.get(key);
    if (!list) {
      const graph = this.graph(estimate, group);
      const found = new Map<number, Edge>();
      const start = this.groupStart(group);
      graph.from.forEach((from, i) => {
        const to = graph.to[i];
        if (from === null || to === null) return;
        const id = from * graph.id.length + to;
        const edge = found.get(id);
        if (edge) edge.steps.push(start + i);
        else found.set(id, { from, to, steps: [start + i] });
      });
      list = [...found.values()];
      this.edgeCache.set(key, list);
    }
    return list;
  }

  // What the group did in a node, most frequent first.
  choices(estimate: number, group: number, node: number): Choice[] {
    const found = new Map<string, Choice>();
    for (const edge of this.edges(estimate, group)) {
      if (edge.from !== node) continue;
      for (const step of edge.steps) {
        const action = this.action(step);
        const choice = found.get(action);
        if (choice) choice.steps.push(step);
        else found.set(action, { action, steps: [step] });
      }
    }
    return [...found.values()].sort((a, b) => b.steps.length - a.steps.length);
  }

  mean(estimate: number, part: Part, steps: number[]): number {
    return steps.reduce((sum, step) => sum + this.value(estimate, part, step), 0) / steps.length;
  }

  // How a step moved: "closer" or "away" by observed distance to success, "lost" where success was no longer
  // observed afterwards, "same", or null where the graph cannot tell.
  progress(estimate: number, step: number): "closer" | "away" | "lost" | "same" | null {
    const graph = this.graph(estimate, this.groupOf(this.episodeOf[step]));
    const before = this.nodeBefore(estimate, step), after = this.nodeAfter(estimate, step);
    if (before === null || after === null) return null;
    const from = graph.distance[before], to = graph.distance[after];
    if (from === null) return null;
    if (to === null) return "lost";
    return to < from ? "closer" : to > from ? "away" : "same";
  }

  // The situations that one node stands for: distinct texts with the steps that read them.
  nodeTexts(estimate: number, group: number, node: number): { text: string; count: number }[] {
    const counts = new Map<number, number>();
    const graph = this.graph(estimate, group);
    const start = this.groupStart(group);
    const add = (id: number) => counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const e of this.episodes(group)) {
      for (let i = this.first(e); i < this.first(e) + this.length(e); i++) {
        if (graph.from[i - start] === node) add(this.doc.steps.observation[i]);
      }
      const last = this.first(e) + this.length(e) - 1;
      if (this.length(e) > 0 && graph.to[last - start] === node) add(this.doc.episodes.last.observation[e]);
    }
    return [...counts].map(([id, count]) => ({ text: this.text(id), count })).sort((a, b) => b.count - a.count);
  }
}

export const KIND_NAMES: Record<Kind, string> = {
  success: "success", failure: "failure", truncated: "out of steps", stopped: "stopped", failed: "failed by infrastructure",
};
export const KIND_SIGNS: Record<Kind, string> = { success: "✓", failure: "✗", truncated: "…", stopped: "■", failed: "⚠" };
