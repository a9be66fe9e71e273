// The viewer's npm packages and the browser, or the end of the test with a reason (status 77).
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const web = join(dirname(fileURLToPath(import.meta.url)), "../../../web");
const require = createRequire(join(web, "package.json"));

export function skip(reason) {
  console.log(`skipped: ${reason}`);
  process.exit(77);
}

export function load(name) {
  try {
    return require(name);
  } catch {
    return skip(`npm package '${name}' is missing; run 'npm ci' in web/`);
  }
}

export async function launch() {
  const { chromium } = load("playwright-core");
  const path = [process.env.LODESTEP_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => p && existsSync(p));
  if (!path) skip("Chromium is not installed (set LODESTEP_CHROMIUM to a browser elsewhere)");
  return chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
}
