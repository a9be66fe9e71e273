// The viewer in a browser: what it shows equals what the recording holds.
//   node viewer_test.mjs PATH/TO/lodestep
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch } from "./packages.mjs";

const program = process.argv[2];
const browser = await launch();
const folder = mkdtempSync(join(tmpdir(), "lodestep-viewer-"));
const lodestep = (...words) => execFileSync(program, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 30 });
const exported = (run) => lodestep("export", run).trim().split("\n").map((line) => JSON.parse(line));

let failures = 0;
async function test(name, run) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light" });
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) troubles.push(message.text()); });
  try {
    await run(page);
    assert.deepEqual(troubles, []);
    console.log(`ok      ${name}`);
  } catch (error) {
    failures++;
    console.log(`FAILED  ${name}\n${error.stack}`);
  } finally {
    await context.close();
  }
}

const open = async (page, file, hash = "") => {
  await page.goto("about:blank");
  await page.goto(pathToFileURL(join(folder, file)).href + hash);
  await page.waitForSelector("main");
};

// ---- the test's own reading of the recording

lodestep("rollout", "sokoban", "--estimator", "graphgpo,gigpo,grpo,evihb", "--groups", "8", "--group-size", "8", "--policy", "mixed:0.5", "--out", "run.db");
lodestep("report", "run.db", "--html", "run.html");
const steps = exported("run.db");
const groups = [...new Set(steps.map((step) => step.group))];
const rowsOf = (group) => steps.filter((step) => step.group === group);
const mean = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
const signal = (step, name = "graphgpo") => step.advantages[name].step_advantage ?? step.advantages[name].advantage;
const solved = (rows) => new Set(rows.filter((step) => step.outcome === "success").map((step) => step.member)).size;
const members = (rows) => [...new Set(rows.map((step) => step.member))];
const mixed = groups.find((g) => solved(rowsOf(g)) > 0 && solved(rowsOf(g)) < 8);
assert.notEqual(mixed, undefined, "the run needs a group with failures and successes");

// Fewest recorded steps from each node to the goal.
function distances(rows) {
  const distance = new Map();
  const goal = rows.find((step) => step.outcome === "success" && step.done).advantages.graphgpo.next_node;
  for (let front = [goal], d = 0; front.length > 0; d++) {
    for (const node of front) distance.set(node, d);
    front = [...new Set(rows.map((step) => step.advantages.graphgpo).filter((a) => front.includes(a.next_node) && !distance.has(a.node)).map((a) => a.node))];
  }
  return distance;
}

// The documented colour of a share in [-1, 1] in light mode.
function colour(share) {
  const neutral = [203, 208, 215], end = share < 0 ? [214, 73, 10] : [11, 95, 200];
  return `rgb(${neutral.map((n, i) => Math.round(n + (end[i] - n) * Math.sqrt(Math.min(1, Math.abs(share))))).join(", ")})`;
}

await test("opens on a group with failures and successes, at a failed episode, and lists every group", async (page) => {
  await open(page, "run.html");
  assert.equal(await page.locator(".group").count(), groups.length);
  for (const g of groups) {
    const row = page.locator(".group").nth(groups.indexOf(g));
    assert.match(await row.locator(".standing").innerText(), new RegExp(`^${solved(rowsOf(g))}/8`));
    const silent = new Set(rowsOf(g).map((step) => step.episode_reward)).size === 1;
    assert.equal(await row.locator("em").count(), silent ? 1 : 0, "no-signal mark");
    assert.equal(await row.locator(".dot.success").count(), solved(rowsOf(g)));
  }
  assert.equal(await page.locator(".stepper .kind.success").count(), 0);
});

await test("cells, bars and edges have the recorded numbers and their colours", async (page) => {
  for (const estimate of ["graphgpo", "gigpo", "grpo"]) {
    await open(page, "run.html", `#group=${groups.indexOf(mixed)}&estimate=${estimate}`);
    const rows = rowsOf(mixed), scale = Math.max(...rows.map((step) => Math.abs(signal(step, estimate))));
    const cells = await page.locator(".cell").evaluateAll((list) => list.map((cell) => [Number(cell.dataset.advantage), getComputedStyle(cell).backgroundColor]));
    assert.equal(cells.length, rows.length);
    cells.forEach(([advantage, shown], i) => {
      assert.equal(advantage, signal(rows[i], estimate));
      assert.equal(shown, colour(advantage / scale));
    });
    const edges = new Map();
    for (const step of rows) {
      const { node, next_node: next } = step.advantages.graphgpo;
      const key = `${node} ${next}`;
      edges.set(key, [...(edges.get(key) ?? []), signal(step, estimate)]);
    }
    const drawn = await page.locator(".edge").evaluateAll((list) => list.map((edge) => [Number(edge.dataset.advantage), edge.querySelector(".line").getAttribute("stroke")]));
    assert.equal(drawn.length, edges.size);
    const wanted = [...edges.values()].map(mean);
    drawn.forEach(([advantage, stroke], i) => {
      assert.ok(Math.abs(advantage - wanted[i]) < 1e-9);
      assert.equal(stroke.replace(/,/g, ", "), colour(advantage / scale));
    });
  }
});

await test("rank colours order the edges that leave a state", async (page) => {
  await open(page, "run.html", `#group=${groups.indexOf(mixed)}&colour=rank`);
  const edges = await page.locator(".edge").evaluateAll((list) => list.map((edge) => ({ from: edge.dataset.from, advantage: Number(edge.dataset.advantage), share: Number(edge.dataset.share) })));
  for (const a of edges) {
    const same = edges.filter((b) => b.from === a.from);
    if (same.length === 1) assert.equal(a.share, 0);
    for (const b of same) assert.equal(Math.sign(a.share - b.share), Math.sign(a.advantage - b.advantage));
  }
});

await test("a failed episode names the steps that made progress", async (page) => {
  const rows = rowsOf(mixed), distance = distances(rows);
  for (const member of members(rows)) {
    const own = rows.filter((step) => step.member === member);
    if (own[0].outcome === "success") continue;
    const first = steps.indexOf(own[0]);
    await open(page, "run.html", `#group=${groups.indexOf(mixed)}`);
    await page.locator(`tr[data-episode]`).nth(members(rows).indexOf(member)).locator(".name").click();
    const shown = async (kind) => (await page.locator(`.chip.${kind}`).evaluateAll((list) => list.map((chip) => Number(chip.dataset.step)))).map((step) => step - first);
    const moved = (test) => own.filter((step) => {
      const { node, next_node: next } = step.advantages.graphgpo;
      return distance.has(node) && test(distance.get(node), distance.get(next));
    }).map((step) => step.t);
    assert.deepEqual(await shown("closer"), moved((from, to) => to < from));
    assert.deepEqual(await shown("away"), moved((from, to) => to > from));
    assert.deepEqual(await shown("lost"), moved((_, to) => to === undefined));
  }
});

await test("stepping by keys shows each action, its numbers and a board", async (page) => {
  await open(page, "run.html", `#group=${groups.indexOf(mixed)}`);
  const rows = rowsOf(mixed);
  await page.keyboard.press("ArrowUp");
  for (let i = 0; i < 8; i++) await page.keyboard.press("ArrowUp");  // to the first episode
  const own = rows.filter((step) => step.member === 0);
  for (const step of own) {
    assert.equal(await page.locator(".stepper").getAttribute("data-t"), String(step.t));
    assert.equal(await page.locator(".action code").innerText(), step.action);
    const number = (await page.locator("tr[data-estimate=grpo] .total").innerText()).replace("−", "-");
    const wanted = step.advantages.grpo.advantage;
    assert.ok(Math.abs(Number(number) - wanted) <= 0.006 * Math.max(1, Math.abs(wanted)), `${number} is ${wanted}`);
    const boxes = (step.observation.match(/[X√]/g) ?? []).length;
    assert.equal(await page.locator("figure").first().locator(".board .box").count(), boxes);
    await page.keyboard.press("ArrowRight");
  }
  assert.match(await page.locator(".buttons b").innerText(), /end/);
  await page.keyboard.press("Home");
  await page.keyboard.press("p");
  assert.equal(await page.locator(".board").count(), 0);
  assert.equal(await page.locator("pre.observation").first().innerText(), own[0].observation);
});

await test("text mode marks what changed since the step before", async (page) => {
  const own = rowsOf(mixed).filter((step) => step.member === 0);
  await open(page, "run.html", `#group=${groups.indexOf(mixed)}&episode=${members(rowsOf(mixed)).indexOf(0) + steps.filter((s) => s.group < mixed && s.t === 0).length}&t=1&view=text`);
  const pieces = await page.locator("pre.observation").first().evaluate((pre) => [...pre.childNodes].map((node) => [node.nodeName, node.textContent]));
  const text = (without) => pieces.filter(([name]) => name !== without).map(([, piece]) => piece).join("");
  assert.equal(text("DEL"), own[1].observation);
  assert.equal(text("INS"), own[0].observation);
});

await test("the address holds the view: a copy of it opens the same", async (page) => {
  await open(page, "run.html");
  await page.locator(".cell").nth(17).click();
  await page.selectOption("#estimate", "gigpo");
  await page.selectOption("#part", "total");
  const look = () => page.evaluate(() => [document.querySelector(".stepper").dataset.episode, document.querySelector(".stepper").dataset.t, document.querySelector("#estimate").value, document.querySelector("#part").value]);
  const before = await look(), address = page.url();
  await page.goto("about:blank");
  await page.goto(address);
  await page.waitForSelector(".stepper");
  assert.deepEqual(await look(), before);
  await open(page, "run.html", "#group=999&episode=-7&t=1e9&estimate=none&tab=group&omega=x");
  assert.equal(await page.locator(".stepper").count(), 1, "an address that points nowhere still opens");
});

await test("search by outcome, task and text", async (page) => {
  await open(page, "run.html");
  const search = async (text) => {
    await page.fill("#search", text);
    await page.keyboard.press("Enter");
    return page.locator(".group").evaluateAll((list) => list.map((group) => Number(group.dataset.group)));
  };
  assert.deepEqual(await search("outcome:success"), groups.map((g, i) => [g, i]).filter(([g]) => solved(rowsOf(g)) > 0).map(([, i]) => i));
  const task = rowsOf(mixed)[0].task;
  assert.deepEqual(await search(`task:"${task}"`), groups.map((g, i) => [g, i]).filter(([g]) => rowsOf(g)[0].task.toLowerCase().includes(task.toLowerCase())).map(([, i]) => i));
  assert.deepEqual(await search("no such words anywhere"), []);
  assert.deepEqual(await search("action:up"), groups.map((g, i) => [g, i]).filter(([g]) => rowsOf(g).some((step) => step.action.includes("up"))).map(([, i]) => i));
});

await test("comparing two estimators gives their correlation and leads to the steps", async (page) => {
  await open(page, "run.html", "#tab=compare&scope=run&other=gigpo");
  const xs = steps.map((step) => signal(step)), ys = steps.map((step) => signal(step, "gigpo"));
  const mx = mean(xs), my = mean(ys);
  const wanted = mean(xs.map((x, i) => (x - mx) * (ys[i] - my))) / Math.sqrt(mean(xs.map((x) => (x - mx) ** 2)) * mean(ys.map((y) => (y - my) ** 2)));
  const shown = Number((await page.locator("#pearson").innerText()).replace("−", "-"));
  assert.ok(Math.abs(shown - wanted) < 0.005, `${shown} is ${wanted}`);
  assert.equal(Number(await page.locator("#opposite").innerText()), xs.filter((x, i) => x * ys[i] < 0).length);
  const row = page.locator("tr[data-step]").first();
  const step = Number(await row.getAttribute("data-step"));
  await row.click();
  assert.equal(await page.locator(".action code").innerText(), steps[step].action);
});

await test("states, calibration and run tabs; dark and light", async (page) => {
  await open(page, "run.html", `#group=${groups.indexOf(mixed)}&tab=states`);
  const nodes = new Set(rowsOf(mixed).flatMap((step) => [step.advantages.graphgpo.node, step.advantages.graphgpo.next_node]));
  assert.equal(await page.locator("tr[data-node]").count(), nodes.size);
  await page.keyboard.press("4");
  assert.ok(await page.locator(".calibration circle").count() > 0);
  await page.keyboard.press("5");
  assert.match(await page.locator(".panel.run").innerText(), /mixed:0\.5/);
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await page.keyboard.press("d");
  assert.notEqual(await back(), light);
});

await test("text of a recording never becomes markup; shop pages are drawn", async (page) => {
  lodestep("rollout", "dummy", "--estimator", "graphgpo,gigpo,grpo,evihb", "--groups", "1", "--group-size", "2", "--out", "text.db");
  const sql = (text) => execFileSync("sqlite3", ["text.db", text], { cwd: folder });
  sql("UPDATE text SET body = '</script><img src=x onerror=\"document.title=1\"><b>bold</b>' WHERE id = (SELECT observation FROM step WHERE episode_id = 1 AND t = 0)");
  lodestep("report", "text.db", "--html", "text.html");
  await open(page, "text.html", "#episode=0");
  assert.match(await page.locator("pre.observation").first().innerText(), /<b>bold<\/b>/);
  assert.equal(await page.locator("img").count(), 0);
  assert.notEqual(await page.title(), "1");
  sql("UPDATE text SET body = 'Instruction:' || char(10) || 'find a mug' || char(10) || '[button] Back to Search [button_]' || char(10) || '[clicked button] B00EXAMPL1 [clicked button_]' || char(10) || 'Travel mug' || char(10) || '$5.0' WHERE id = (SELECT observation FROM step WHERE episode_id = 1 AND t = 0)");
  lodestep("report", "text.db", "--html", "text.html");
  await open(page, "text.html", "#episode=0");
  assert.equal(await page.locator(".page .wish").first().innerText(), "find a mug");
  assert.equal(await page.locator(".page .product .clicked").innerText(), "B00EXAMPL1");
  assert.equal(await page.locator(".page .product .price").innerText(), "$5.0");
});

await test("an episode that the infrastructure cut is marked and in no count; a run that learns nothing says so", async (page) => {
  lodestep("rollout", "sokoban", "--estimator", "graphgpo,gigpo,grpo,evihb", "--groups", "2", "--group-size", "4", "--policy", "random", "--max-steps", "1", "--out", "cut.db");
  execFileSync("sqlite3", ["cut.db", "UPDATE episode SET status = 'failed', failure = 'the endpoint did not answer' WHERE group_id = 0 AND member = 1"], { cwd: folder });
  lodestep("credit", "--run", "cut.db", "--estimator", "graphgpo");
  lodestep("report", "cut.db", "--html", "cut.html");
  await open(page, "cut.html", "#group=0&episode=1&t=9");
  assert.match(await page.locator(".group").first().locator(".standing").innerText(), /^0\/3/);
  assert.equal(await page.locator(".group").first().locator(".dot.failed").count(), 1);
  assert.match(await page.locator(".action").innerText(), /the endpoint did not answer/);
  assert.equal(await page.locator("tr[data-episode='1'] .cell").getAttribute("data-advantage"), "0");
  await page.keyboard.press("5");
  assert.match(await page.locator(".warning").first().innerText(), /ran out of steps/);
  assert.match(await page.locator(".panel.run").innerText(), /7, and 1 failed by infrastructure/);
});

await test("lodestep view serves the same page, and asks the network for nothing else", async (page) => {
  const server = spawn(program, ["view", "run.db", "--port", "0"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const address = await new Promise((resolve) => { server.stdout.once("data", (data) => resolve(String(data).trim())); });
    const requests = [];
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(address);
    await page.waitForSelector(".stepper");
    assert.equal(await page.locator(".group").count(), groups.length);
    assert.deepEqual(requests, [address]);
    assert.equal((await fetch(address + "other")).status, 404);
    assert.equal((await fetch(address, { method: "POST", body: "x" })).status, 405);
    const head = await fetch(address, { method: "HEAD" });
    assert.equal(Number(head.headers.get("content-length")), statSync(join(folder, "run.html")).size);
    const under = (host) => new Promise((resolve) => { get(address, { headers: { host } }, (answer) => { answer.resume(); resolve(answer.statusCode); }); });
    assert.equal(await under("elsewhere.example"), 421, "another site's name must not reach the recording");
    assert.equal(await under("localhost:1"), 200);
  } finally {
    const ended = new Promise((resolve) => { server.once("exit", (code) => resolve(code)); });
    server.kill("SIGTERM");
    assert.equal(await ended, 143);
  }
});

await test("big recordings: how long they take (not judged)", async (page) => {
  const timed = async (name, hash = "") => {
    const made = performance.now();
    lodestep("report", `${name}.db`, "--html", `${name}.html`);
    const start = performance.now();
    await open(page, `${name}.html`, hash);
    await page.waitForSelector("#graph");
    const shown = performance.now();
    await page.keyboard.press("ArrowRight");
    await page.waitForSelector('.stepper[data-t="1"]');
    console.log(`        ${name}: page made in ${Math.round(start - made)} ms, ${(statSync(join(folder, `${name}.html`)).size / 1e6).toFixed(1)} MB, opened in ${Math.round(shown - start)} ms, ` +
      `a step in ${Math.round(performance.now() - shown)} ms, ${await page.locator(".node").count()} states in the graph shown`);
  };
  lodestep("rollout", "sokoban", "--estimator", "graphgpo,gigpo,grpo,evihb", "--groups", "420", "--group-size", "8", "--policy", "random", "--max-steps", "15", "--out", "long.db");
  await timed("long");
  lodestep("rollout", "sokoban", "--estimator", "graphgpo,gigpo,grpo,evihb", "--groups", "3", "--group-size", "250", "--policy", "random", "--max-steps", "50", "--out", "wide.db");
  const states = new Map();
  for (const step of exported("wide.db")) states.set(step.group, Math.max(states.get(step.group) ?? 0, step.advantages.graphgpo.next_node));
  await timed("wide", `#group=${[...states.values()].indexOf(Math.max(...states.values()))}`);
});

await browser.close();
rmSync(folder, { recursive: true });
process.exit(failures > 0 ? 1 : 0);
