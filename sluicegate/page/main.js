// The page: two disciplines, each in a worker, that the clock drives.
"use strict";

const $ = (id) => document.getElementById(id);
const base = JSON.parse($("scenario").textContent);
const scenario = structuredClone(base);
const ROWS = 600;
const isNetwork = Boolean(base.topology);
// simulated s or slots for each second, and the length of the strips
const view = { speed: isNetwork ? 1 : 2000, window: isNetwork ? 10 : 20000 };

let engine = null;
let module = null;
let sides = [];
let about = null;
let playing = false;
let target = 0;
let run = 0;
let strips = [];
// frames so far, and the times (ms) of the first one with a strip, the last one, and the last numbers
const drawn = { frames: 0, first: null, last: null, numbers: 0 };

// One discipline: its worker, what it has seen, and where it is drawn.
class Side {
  constructor(place) {
    this.place = place;
    const source = `${$("engine").textContent}\n${$("worker").textContent}`;
    this.url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.worker = new Worker(this.url);
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.colours = colours(SIDES[place]);
    // what to do with the answers, in the order in which they come
    this.waiting = [];
  }

  // Returns the worker's answer to a task; none comes once the run has begun anew.
  ask(task, given = {}) {
    this.worker.postMessage({ task, run, ...given });
    return new Promise((done) => this.waiting.push(done));
  }

  hear(answer) {
    const done = this.waiting.shift();
    if (answer.run !== run) return;
    if (answer.error) fail(answer.error);
    if (answer.rows) {
      this.rows.add(answer.rows, answer.now - view.window);
      this.reached = answer.now;
    }
    done(answer);
  }

  begin(text) {
    this.rows = new Rows(engine.offered.row);
    this.reached = 0;
    return this.ask("begin", { module, toml: text, discipline: this.place });
  }

  follow() {
    if (this.waiting.length || this.reached >= Math.min(target, about.end)) return;
    this.ask("advance", { from: this.reached, until: target, step: view.window / ROWS });
  }
}

// Returns the bytes of the engine's module, which the page holds compressed.
async function unpacked() {
  const bytes = Uint8Array.from(atob($("module").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const reached = () => Math.min(...sides.map((side) => side.reached ?? 0));

function fail(message) {
  $("error").textContent = message;
  if (message) play(false);
}

function play(on) {
  playing = on;
  $("play").textContent = on ? "Pause" : "Play";
}

// Begins the run anew, as the scenario now is.
async function restart() {
  const text = toml(named(scenario));
  showElsewhere(text);
  run += 1;
  const now = run;
  about = null;
  target = 0;
  fail("");
  try {
    engine.begin(text, 0);
  } catch (error) {
    fail(error.message);
    return;
  }
  const answers = await Promise.all(sides.map((side) => side.begin(text)));
  if (now !== run || answers.some((answer) => answer.error)) return;
  about = answers[0].about;
  for (const side of sides) {
    const parameters = inForce(scenario.disciplines[side.place], engine.offered);
    side.levels = shownStrips().map((strip) => levels(strip, about, scenario, parameters));
  }
  answers.forEach((answer, place) => {
    for (const name of document.querySelectorAll(`.name-${SIDES[place]}`)) name.textContent = answer.about.discipline;
  });
  $("state").textContent = `ready: ${answers.map((answer) => answer.about.discipline).join(", ")}`;
}

let soon = 0;

// After a change of the scenario or of the view. `anew`: other controls are needed, too.
function changed(anew = false) {
  if (anew) showControls(scenario, engine.offered, changed);
  history.replaceState(null, "", `#${linkOf(scenario, base, view)}`);
  clearTimeout(soon);
  soon = setTimeout(restart, 150);
}

// Returns a scenario whose disciplines have different names.
function named(scenario) {
  const [left, right] = scenario.disciplines.map(({ params = {}, ...rest }) => JSON.stringify({ ...rest, params }));
  if (left !== right) return scenario;
  return { ...scenario, disciplines: scenario.disciplines.map((each, place) => ({ ...each, label: SIDES[place] })) };
}

// The same scenario as TOML and command.
function showElsewhere(text) {
  $("toml").textContent = text;
  $("command").textContent = "sluice compare queue.toml";
}

function frame(now) {
  requestAnimationFrame(frame);
  const passed = Math.min((now - (drawn.last ?? now)) / 1000, 0.1);
  drawn.last = now;
  if (!about) return;
  if (playing) {
    // the clock waits for an engine that is slower than it
    const lead = view.speed * 0.1 + view.window / ROWS;
    target = Math.min(target + passed * view.speed, reached() + lead, about.end);
    if (reached() >= about.end) play(false);
  }
  sides.forEach((side) => side.follow());
  drawStrips(sides, strips, about, Math.max(reached(), view.window / ROWS), view.window);
  drawn.frames += 1;
  drawn.first ??= reached() > 0 ? performance.now() : null;
  if (now - drawn.numbers > 250) {
    drawn.numbers = now;
    showNumbers();
  }
}

// The numbers of the time that the strips show.
function showNumbers() {
  $("clock").textContent = `${short(reached())} of ${short(about.end)} ${about.unit}`;
  const unit = about.unit;
  for (const [place, side] of sides.entries()) {
    const rows = side.rows.rows.filter((row) => row[0] >= reached() - view.window && row[0] <= reached());
    if (rows.length < 2) continue;
    const column = side.rows.column;
    const [first, last] = [rows[0], rows[rows.length - 1]];
    const of = (name) => last[column[name]] - first[column[name]];
    const share = (name) => `${short((100 * of(name)) / of("arrivals"))} %`;
    const mean = rows.reduce((sum, row) => sum + row[column.queue_packets], 0) / rows.length;
    const shown = {
      queue: `${short(mean)} packets`,
      sojourn: `${short((unit === "s" ? 1e3 : 1) * of("sojourn") / of("sent"))} ${unit === "s" ? "ms" : unit}`,
      lost: share("lost"),
      marked: share("marked"),
      goodput: `${short(goodput[unit](last, first, column))} ${unit === "s" ? "Mb/s" : "packets per slot"}`,
    };
    for (const [name, text] of Object.entries(shown)) $(`${name}-${SIDES[place]}`).textContent = text;
  }
}

const shownStrips = () => STRIPS.filter((strip) => !strip.world || strip.world === about.world);

function makeStrips() {
  strips = shownStrips();
  sides.forEach((side) => { side.strips = []; });
  const parts = strips.map((strip) => {
    const title = chosen(strip.title, about), unit = chosen(strip.unit, about);
    const legend = strip.lines.filter((line) => line.name).map((line) => chosen(line.name, about)).join("; ");
    const canvases = sides.map((side) => {
      const canvas = element("canvas", { role: "img", "aria-label": `${title} of the ${SIDES[side.place]} discipline in time; the table of numbers says the same` });
      side.strips.push(new Strip(canvas));
      return canvas;
    });
    return element("div", { className: "strip" }, element("h3", {}, `${title} (${unit})`, element("small", {}, ` ${legend}`)), ...canvases);
  });
  $("strips").append(...parts);
}

function copyOf(id) {
  return () => navigator.clipboard.writeText(id === "link" ? location.href : $(id).textContent)
    .then(() => { $("state").textContent = "copied"; }, () => { $("state").textContent = "the browser did not let this page copy"; });
}

async function save() {
  play(false);
  const records = await Promise.all(sides.map((side) => side.ask("record")));
  if (records.some((record) => record.error)) return;
  const text = `[${records.map((record) => record.record).join(",\n")}]\n`;
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  element("a", { href: url, download: "records.json" }).click();
  await restart();
}

async function start() {
  const followed = follow(location.hash.slice(1), scenario, Object.keys(view));
  Object.assign(view, followed);
  module = await unpacked();
  engine = await Engine.of(module);
  if (scenario.disciplines.length < 2) scenario.disciplines.push({ aqm: "drop_tail" });
  sides = SIDES.map((_, place) => new Side(place));
  showControls(scenario, engine.offered, changed);
  const [unit, least, most] = isNetwork ? ["s", 0.01, 100] : ["slots", 100, 1e7];
  $("view").replaceChildren(
    control("Speed", { unit: `${unit} per second`, type: "number", description: `Simulated ${unit} in each second of the clock.` }, view.speed, new Range(least, most, true), (value) => { view.speed = value; changedView(); }),
    control("Strip", { unit: `${unit}`, type: "number", description: "Time that the strips show." }, view.window, new Range(...(isNetwork ? [0.1, 1000] : [100, 1e7]), true), (value) => { view.window = value; changedView(); }),
  );
  await restart();
  if (about) makeStrips();
  $("play").onclick = () => play(!playing);
  $("step").onclick = () => { play(false); target = Math.min(reached() + view.window / ROWS, about?.end ?? 0); };
  $("restart").onclick = restart;
  $("save").onclick = save;
  for (const id of ["toml", "command", "link"]) $(`copy-${id}`).onclick = copyOf(id);
  window.onhashchange = () => location.reload();
  matchMedia("(prefers-color-scheme: dark)").onchange = () => {
    sides.forEach((side) => { side.colours = colours(SIDES[side.place]); });
  };
  play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  requestAnimationFrame(frame);
}

function changedView() {
  history.replaceState(null, "", `#${linkOf(scenario, base, view)}`);
}

start().catch((error) => fail(`This page cannot run: ${error.message}`));
