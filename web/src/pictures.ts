// Observations as pictures: Sokoban boards and shop pages, drawn from the text that the agent read.
import { h, s } from "./dom";

// verl-agent's symbols and the XSB ones, as one code: # wall, blank floor, . goal, $ box, * box on goal,
// @ player, + player on goal.
const VERL: Record<string, string> = { "#": "#", "_": " ", "O": ".", "√": "*", "X": "$", "P": "@", "S": "+" };
const XSB = new Set("#@+$*.-_ ");

interface Board { before: string; cells: string[]; after: string }

// The largest block of lines that are all board rows.
export function findBoard(text: string): Board | null {
  const lines = text.split("\n");
  for (const row of [verlRow, xsbRow]) {
    let best: [number, number] = [0, 0];
    for (let i = 0; i < lines.length;) {
      let j = i;
      while (j < lines.length && row(lines[j]) !== null) j++;
      if (j - i > best[1] - best[0]) best = [i, j];
      i = Math.max(j, i + 1);
    }
    const [from, to] = best;
    const cells = lines.slice(from, to).map((line) => row(line) as string);
    if (cells.length < 3 || !/[@+]/.test(cells.join("")) || !cells.some((line) => line.includes("#"))) continue;
    return { before: lines.slice(0, from).join("\n"), cells, after: lines.slice(to).join("\n") };
  }
  return null;
}

function verlRow(line: string): string | null {
  const words = line.trim().split(/\s+/);
  if (words.length < 3 || words.some((word) => !(word in VERL))) return null;
  return words.map((word) => VERL[word]).join("");
}

function xsbRow(line: string): string | null {
  const cells = line.trimEnd();
  if (cells.length < 3 || !cells.includes("#") || [...cells].some((c) => !XSB.has(c))) return null;
  return cells.replace(/[-_]/g, " ");
}

export function boardPicture(cells: string[]): SVGElement {
  const width = Math.max(...cells.map((line) => line.length)), height = cells.length;
  const picture = s("svg", { class: "board", viewBox: `0 0 ${width * 10} ${height * 10}`, role: "img", "aria-label": "Sokoban board" });
  cells.forEach((line, y) => [...line.padEnd(width, "#")].forEach((cell, x) => {
    const g = s("g", { transform: `translate(${x * 10} ${y * 10})` });
    if (cell === "#") {
      g.append(s("rect", { width: 10, height: 10, class: "wall" }),
        s("path", { d: "M0 3.3H10M0 6.6H10M5 0V3.3M2.5 3.3V6.6M7.5 3.3V6.6M5 6.6V10", class: "mortar" }));
    } else {
      g.append(s("rect", { width: 10, height: 10, class: "floor" }));
      if (".*+".includes(cell)) g.append(s("path", { d: "M5 1.6L8.4 5L5 8.4L1.6 5Z", class: "goal" }));
      if ("$*".includes(cell)) {
        g.append(s("rect", { x: 1.4, y: 1.4, width: 7.2, height: 7.2, rx: 0.8, class: cell === "*" ? "box home" : "box" }),
          s("path", { d: "M1.8 1.8L8.2 8.2M8.2 1.8L1.8 8.2", class: "slats" }));
      }
      if ("@+".includes(cell)) {
        g.append(s("circle", { cx: 5, cy: 3.2, r: 1.7, class: "player" }),
          s("path", { d: "M2.2 8.9C2.2 4.2 7.8 4.2 7.8 8.9Z", class: "player" }));
      }
    }
    picture.append(g);
  }));
  return picture;
}

type Item = { kind: "text" | "button" | "clicked" | "gap"; text: string };

const BUTTONS = /^(Search|Back to Search|< Prev|Next >|Description|Features|Reviews|Attributes|Buy Now)$/;
const PRODUCT = /^B[0-9A-Z]{9}$/;

// A shop page in either of its two text forms.
export function findPage(text: string): Item[] | null {
  if (text.includes("[button_]") || text.includes("[clicked button_]")) {
    return text.split("\n").filter((line) => line.trim()).map((line): Item => {
      const match = /^\s*\[(clicked )?button\] (.*) \[(?:clicked )?button_\]$/.exec(line);
      return match ? { kind: match[1] ? "clicked" : "button", text: match[2] } : { kind: "text", text: line.trim() };
    });
  }
  if (text.includes("[SEP]")) {
    return text.split(/\s*\[SEP\]\s*/).map((part) => part.replace(/^'(.*)'$/s, "$1")).filter((part) => part)
      .map((part): Item => ({ kind: BUTTONS.test(part) || PRODUCT.test(part) ? "button" : "text", text: part }));
  }
  return null;
}

export function pagePicture(items: Item[]): HTMLElement {
  const page = h("div", { class: "page", role: "img", "aria-label": "shop page" });
  let card: HTMLElement = page;
  let wishNext = false;
  for (const item of items) {
    if (item.kind === "text" && /^Instruction:?$/.test(item.text)) {
      wishNext = true;
      continue;
    }
    if (wishNext) {
      page.append(h("p", { class: "wish" }, item.text));
      wishNext = false;
      continue;
    }
    if (item.kind !== "text" && PRODUCT.test(item.text)) {
      card = h("div", { class: "product" });
      page.append(card);
    } else if (item.kind !== "text") {
      card = page;
    }
    card.append(item.kind === "text"
      ? h("span", { class: /\$\d/.test(item.text) ? "price" : "line" }, item.text)
      : h("span", { class: item.kind === "clicked" ? "button clicked" : "button" }, item.text));
  }
  return page;
}
