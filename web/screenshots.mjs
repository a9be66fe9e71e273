// Makes the pictures of docs/: node screenshots.mjs PATH/TO/lodestep PATH/TO/docs/images
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "../tests/e2e/viewer/packages.mjs";

const [program, images] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "lodestep-screenshots-"));
const lodestep = (...words) => execFileSync(program, words, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
lodestep("rollout", "sokoban", "--set", "distance=true", "--groups", "16", "--group-size", "8", "--policy", "mixed:0.5", "--seed", "5", "--out", "run.db");
lodestep("report", "run.db", "--html", "run.html");

const browser = await launch();
for (const [name, scheme, hash] of [
  ["viewer-group", "light", "#t=2"],
  ["viewer-compare", "dark", "#tab=compare&scope=run&other=gigpo"],
]) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 740 }, colorScheme: scheme });
  await page.goto(pathToFileURL(join(folder, "run.html")).href + hash);
  await page.waitForSelector("main svg");
  await page.screenshot({ path: join(images, `${name}.png`) });
  await page.close();
}
await browser.close();
lodestep("plot", "run.db", "group", "-o", join(images, "plot-group.svg"));
lodestep("plot", "run.db", "episode", "-o", join(images, "plot-episode.svg"));
rmSync(folder, { recursive: true });
