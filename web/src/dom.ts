// Makes elements: h("p", { class: "note" }, "text", child). Text never becomes markup.
export type Child = Node | string | number | null | undefined | false;
type Props = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;

const SVG = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, props: Props, children: Child[]): E {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), props, children);
}

export function s<K extends keyof SVGElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], props, children);
}

export function select(label: string, name: string, value: string, options: [string, string][], change: (value: string) => void): HTMLElement {
  const box = h("select", { id: name, "aria-label": label, onchange: () => change(box.value) },
    ...options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
  return h("label", { class: "field" }, h("span", {}, label), box);
}

// A number for people: three significant digits, a true minus sign.
export function show(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
}

export function signed(value: number | null | undefined): string {
  const text = show(value);
  return value && value > 0 ? "+" + text : text;
}

export function percent(share: number): string {
  return (100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0) + " %";
}

export function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}
