// Differences between two texts, word by word.
export interface Piece { kind: "same" | "added" | "removed"; text: string }

// Whether two texts have so much in common that marking the differences helps a reader.
export function isRevision(pieces: Piece[]): boolean {
  const size = (kind: Piece["kind"]) => pieces.reduce((sum, piece) => sum + (piece.kind === kind ? piece.text.replace(/\s/g, "").length : 0), 0);
  const same = size("same");
  return same >= 0.6 * (same + Math.max(size("added"), size("removed")));
}

const LIMIT = 2_000_000; // cells of the table; beyond it only equal ends are recognised

export function diff(before: string, after: string): Piece[] {
  const a = before.match(/\s+|[^\s]+/g) ?? [];
  const b = after.match(/\s+|[^\s]+/g) ?? [];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const pieces: Piece[] = [];
  const push = (kind: Piece["kind"], text: string) => {
    if (!text) return;
    const last = pieces[pieces.length - 1];
    if (last && last.kind === kind) last.text += text;
    else pieces.push({ kind, text });
  };
  push("same", a.slice(0, head).join(""));
  middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail), push);
  push("same", a.slice(a.length - tail).join(""));
  return pieces;
}

// Longest common subsequence of the words in between.
function middle(a: string[], b: string[], push: (kind: Piece["kind"], text: string) => void): void {
  const n = a.length, m = b.length;
  if (n * m > LIMIT) {
    push("removed", a.join(""));
    push("added", b.join(""));
    return;
  }
  const table = new Uint16Array((n + 1) * (m + 1));
  const at = (i: number, j: number) => i * (m + 1) + j;
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      table[at(i, j)] = a[i] === b[j] ? table[at(i + 1, j + 1)] + 1 : Math.max(table[at(i + 1, j)], table[at(i, j + 1)]);
    }
  }
  let i = 0, j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && a[i] === b[j]) {
      push("same", a[i++]);
      j++;
    } else if (j >= m || (i < n && table[at(i + 1, j)] >= table[at(i, j + 1)])) {
      push("removed", a[i++]);
    } else {
      push("added", b[j++]);
    }
  }
}
