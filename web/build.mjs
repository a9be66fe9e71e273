// Bundles the viewer into one HTML file without outside references: `npm run build`, or
// `node build.mjs OUT` to write it elsewhere. The file in the repository is what the program embeds.
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "viewer.html");
const options = { bundle: true, minify: true, write: false, target: "es2020", charset: "utf8", legalComments: "none", absWorkingDir: here };
const [script, style, page] = await Promise.all([
  build({ ...options, entryPoints: ["src/main.ts"], format: "iife" }),
  build({ ...options, entryPoints: ["src/style.css"] }),
  readFile(join(here, "index.html"), "utf8"),
]);
await writeFile(
  out,
  page
    .replace("/*STYLE*/", () => style.outputFiles[0].text.trim())
    .replace("/*SCRIPT*/", () => script.outputFiles[0].text.trim()),
);
