// web/viewer.html is what a fresh build of web/src gives, and the sources pass the type checker.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load, web } from "./packages.mjs";

load("esbuild");
load("typescript");
const fresh = join(process.argv[2], "viewer.html");
execFileSync(process.execPath, [join(web, "build.mjs"), fresh], { stdio: "inherit" });
if (!readFileSync(fresh).equals(readFileSync(join(web, "viewer.html")))) {
  console.log("web/viewer.html is not what web/src gives: run 'npm run build' in web/ and commit it");
  process.exit(1);
}
execFileSync(process.execPath, [join(web, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", web], { stdio: "inherit" });
const lock = readFileSync(join(web, "package-lock.json"), "utf8");
if (/https?:|"resolved"/.test(lock)) {
  console.log("web/package-lock.json names a host");
  process.exit(1);
}
console.log("the bundle is fresh");
