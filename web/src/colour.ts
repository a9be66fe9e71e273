// Advantages as colours: blue helped, orange hurt, grey is neutral; readable with any colour vision.
type Rgb = [number, number, number];
interface Ramp { neutral: Rgb; helped: Rgb; hurt: Rgb }

const LIGHT: Ramp = { neutral: [203, 208, 215], helped: [11, 95, 200], hurt: [214, 73, 10] };
const DARK: Ramp = { neutral: [74, 81, 92], helped: [88, 172, 255], hurt: [255, 138, 44] };

let ramp = LIGHT;
export function useDark(dark: boolean): void { ramp = dark ? DARK : LIGHT; }

// share in [-1, 1]. A square root, so that small advantages still show.
export function colour(share: number): string {
  const size = Math.sqrt(Math.min(1, Math.abs(share)));
  const end = share < 0 ? ramp.hurt : ramp.helped;
  return `rgb(${ramp.neutral.map((n, i) => Math.round(n + (end[i] - n) * size)).join(",")})`;
}

export function ratio(value: number, scale: number): number {
  return scale > 0 ? value / scale : 0;
}

// Mid-ranks on [-1, 1], ties share; a lone value is neutral.
export function ranks(values: number[]): number[] {
  const n = values.length;
  if (n < 2) return values.map(() => 0);
  const order = values.map((_, i) => i).sort((a, b) => values[a] - values[b]);
  const out = new Array<number>(n);
  for (let i = 0; i < n;) {
    let j = i;
    while (j + 1 < n && values[order[j + 1]] === values[order[i]]) j++;
    for (let k = i; k <= j; k++) out[order[k]] = (i + j) / (n - 1) - 1;
    i = j + 1;
  }
  return out;
}
