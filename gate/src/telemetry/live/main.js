const about = JSON.parse($("about").textContent);
// greatest time that is kept, s
const MOST_S = 600;
const rows = { forward: [], reverse: [] };
let run = null;
let wanted = false;
let paused = false;
// what is chosen is in the address, so that a reload and a bookmark keep it; the token is not
const chosen = { link: "forward", span: "300", ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) };
const span = () => Number(chosen.span);

function keep() {
  if (about.switch && offered.length) chosen.aqm = discipline();
  const said = Object.entries(chosen).filter(([, value]) => value);
  history.replaceState(null, "", `#${new URLSearchParams(said)}`);
}

const strips = STRIPS.map((each) => new Strip(each, $("strips")));
const shadows = about.shadow ? SHADOW.map((each) => new Strip(each, $("shadow-strips"))) : [];

function told(event, take) {
  const of = event.lastEventId.split("-")[0];
  if (of !== run) {
    // another daemon: its clock and counts are others
    run = of;
    rows.forward.length = rows.reverse.length = 0;
  }
  take(JSON.parse(event.data));
  if (!wanted && !paused) {
    wanted = true;
    requestAnimationFrame(draw);
  }
}

function seen(links) {
  for (const row of links) {
    const all = rows[row.link];
    all.push(row);
    while (all[0].clock_ms < row.clock_ms - 1000 * MOST_S) all.shift();
  }
  $("of-link").hidden = links.length < 2;
  $("state").textContent = paused ? "paused" : "live";
}

// the shadow of a record is told when its thread has made it: soon before, or soon after
const waiting = [];
function shadowed(links) {
  waiting.push(...links);
  for (const each of waiting.splice(0)) {
    const row = rows[each.link].findLast((one) => Math.abs(one.clock_ms - each.clock_ms) < 25);
    if (row) row.shadow = each;
    else if (!rows[each.link].length || each.clock_ms > rows[each.link].at(-1).clock_ms) waiting.push(each);
  }
}

function draw() {
  wanted = false;
  const all = rows[chosen.link];
  const last = all.at(-1);
  if (!last) return;
  const shown = all.filter((row) => row.clock_ms > last.clock_ms - 1000 * span());
  const times = shown.map((row) => (row.clock_ms - last.clock_ms) / 1000);
  for (const strip of [...strips, ...shadows]) strip.draw(shown, times);
  $("what").textContent = `${chosen.link}: ${last.discipline}, ${short(mbps(last.rate_bps))} Mbit/s, limit ${last.limit} packets`;
  tables(last);
}

function tables(row) {
  const figures = [
    ["came, left", `${short(mbps(row.arrived_bps))}, ${short(mbps(row.sent_bps))} Mbit/s`],
    ["packets that came", row.arrivals],
    ["wait now", `${row.queue_packets} packets, ${row.queue_bytes} bytes`],
    ["sojourn", `median ${short(row.sojourn_ms.p50)} ms, p99 ${short(row.sojourn_ms.p99)} ms`],
    ["dropped", `${row.early} early, ${row.overflow} overflow`],
    ["marked", row.marked],
    ["drop probability", row.drop_probability == null ? "this AQM has none" : short(row.drop_probability)],
    ["lateness", `p99 ${short(row.lateness_ms.p99)} ms, longest ${short(row.lateness_ms.max)} ms`],
    ...row.classes.map(([name, packets, mean]) => [name, `${packets} packets, mean sojourn ${short(mean)} ms`]),
  ];
  fill("figures", figures, "th");
  const flows = row.flows.map(([flow, share]) => [flow, `${(100 * share).toFixed(1)} %`]);
  fill("flows", flows.length ? flows : [["nothing came", ""]], "td");
  if (row.shadow) {
    $("shadow-name").textContent = row.shadow.discipline;
    $("left-out").textContent = row.shadow.left_out ? `${row.shadow.left_out} arrivals are missing here: the machine was too busy.` : "";
  }
}

function fill(id, lines, first) {
  const made = lines.map(([name, value]) => {
    const line = document.createElement("tr");
    const head = line.appendChild(document.createElement(first));
    if (first === "th") head.scope = "row";
    head.textContent = name;
    line.insertCell().textContent = value;
    return line;
  });
  $(id).replaceChildren(...made);
}

function listen() {
  const events = new EventSource("events");
  events.addEventListener("seen", (event) => told(event, seen));
  events.addEventListener("shadow", (event) => told(event, shadowed));
  events.addEventListener("told", (event) => told(event, (text) => { $("switched").textContent = text; }));
  events.onerror = () => {
    $("state").textContent = "sluiced does not answer: this is how it was";
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  };
}

function pause() {
  paused = !paused;
  $("pause").textContent = paused ? "Go on" : "Pause";
  $("state").textContent = paused ? "paused" : "live";
  if (!paused) draw();
}

for (const id of ["link", "span"]) {
  $(id).value = chosen[id];
  if (!$(id).value) $(id).value = chosen[id] = id === "link" ? "forward" : "300";
  $(id).onchange = () => { chosen[id] = $(id).value; keep(); draw(); };
}
$("pause").onclick = pause;
$("shadow").hidden = !about.shadow;
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
if (about.switch) start_switch();
listen();
