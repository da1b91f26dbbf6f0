// The controls: a slider and a number for each field, a choice for words, a switch; their ranges,
// units and meanings are those of the schema.
"use strict";

// Units that are shown instead of the scenario's, and how many of them make one of it.
const SHOWN = { "bits/s": ["Mb/s", 1e-6], s: ["ms", 1e3] };
// times of the whole run stay in seconds
const IN_SECONDS = ["duration_s"];
const STEPS = 1000;

// Fields by world: path, name, and the ends of the slider, in the scenario's unit. A field is there
// if the schema has it for this scenario.
const FIELDS = {
  network: [
    ["topology.rate_bps", "Rate", 1e5, 1e9],
    ["topology.delay_s", "Round trip", 1e-3, 1],
    ["queue.limit", "Buffer", 1, 5000],
    ["seed", "Seed", 1, 100],
    ["duration_s", "Duration", 1, 1000],
  ],
  slotted: [
    ["arrivals.rate", "Arrivals per slot", 0.01, 1],
    ["arrivals.a", "a of the source", 1.1, 100],
    ["arrivals.states", "States of the source", 2, 20],
    ["arrivals.hurst", "Hurst parameter", 0.5, 0.99],
    ["arrivals.deviation", "Deviation", 0.001, 1],
    ["service.mu", "Service ends in a slot with probability", 0.01, 1],
    ["service.slots", "Service time", 1, 1000],
    ["service.rate_bps", "Rate", 1e5, 1e9],
    ["queue.limit", "Buffer", 1, 5000],
    ["seed", "Seed", 1, 100],
    ["slots", "Duration", 1e3, 1e9],
  ],
};
const OF_FLOWS = [
  ["count", "Flows", 1, 500],
  ["tcp.congestion_control", "Congestion control"],
  ["tcp.ecn", "Senders use ECN"],
];
// of video calls
const OF_CALLS = [
  ["max_rate_bps", "Greatest rate", 1e5, 1e8],
  ["ecn", "Packets may be marked (ECN)"],
  ["ect1", "Marks are those of L4S"],
];
// What congestion controls need of the other fields of `tcp`.
const NEEDS = {
  dctcp: { ecn: true },
  bbr: { variant: "rack" },
  prague: { ecn: true, variant: "rack" },
};

// Returns what a field's new value needs of the fields beside it; null if it needs nothing.
function needsOf(path, given) {
  if (path.endsWith(".congestion_control")) return NEEDS[given] ?? {};
  if (path.endsWith(".ect1") && given) return { ecn: true };
  return /^flows\.\d+\.ecn$/.test(path) && !given ? { ect1: false } : null;
}

const OF_DISCIPLINE = [
  ["scheduler.kind", "Scheduler"],
  ["victim", "Which packet is dropped"],
  ["ecn", "Mark instead of drop (ECN)"],
];

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

let fields = 0;

// Returns a row of controls for a field. `field` is what the schema says, `range` has the ends of
// the slider, `change(value)` is called with each new value in the scenario's unit.
function control(name, field, value, range, change) {
  const id = `field-${(fields += 1)}`;
  const help = element("small", { id: `${id}-help` }, (field.description ?? "").replaceAll("`", ""));
  const label = element("label", { htmlFor: id }, name);
  const about = { id, "aria-describedby": help.id };
  if (field.enum) {
    const options = field.enum.map((word) => element("option", { selected: word === value }, word));
    const select = element("select", about, ...options);
    select.onchange = () => change(select.value);
    return element("div", { className: "field" }, label, select, help);
  }
  if (field.type === "boolean") {
    const box = element("input", { ...about, type: "checkbox", checked: value });
    box.onchange = () => change(box.checked);
    return element("div", { className: "field switch" }, box, label, help);
  }
  const [unit, many] = range.asIs ? [field.unit ?? "", 1] : (SHOWN[field.unit] ?? [field.unit ?? "", 1]);
  const shown = (each) => Number((each * many).toPrecision(12));
  // a quotient, not a product: 5 ms are 0.005 s to the last bit
  const meant = (each) => (many >= 1 ? each / many : each * Math.round(1 / many));
  const number = element("input", { ...about, type: "number", step: "any", value: shown(value) });
  const slider = element("input", { type: "range", min: 0, max: STEPS, "aria-label": `${name}, slider` });
  const place = () => { slider.value = range.place(meant(Number(number.value))); };
  slider.setAttribute("aria-valuetext", `${number.value} ${unit}`);
  place();
  slider.oninput = () => {
    number.value = shown(range.at(Number(slider.value), field.type === "integer"));
    slider.setAttribute("aria-valuetext", `${number.value} ${unit}`);
    change(meant(Number(number.value)));
  };
  number.onchange = () => { place(); change(meant(Number(number.value))); };
  label.append(unit ? ` (${unit})` : "");
  return element("div", { className: "field" }, label, number, slider, help);
}

// A slider's range: by powers where it begins above 0, otherwise in equal steps.
class Range {
  constructor(least, most, asIs = false) {
    Object.assign(this, { least, most, asIs });
  }

  at(place, whole) {
    const { least, most } = this;
    const share = place / STEPS;
    const value = least > 0 ? least * (most / least) ** share : least + (most - least) * share;
    return whole ? Math.round(value) : Number(value.toPrecision(3));
  }

  place(value) {
    const { least, most } = this;
    const share = least > 0 ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
    return Math.round(STEPS * Math.min(Math.max(share, 0), 1));
  }
}

// Returns the range of a parameter's slider: a hundred times less and more than its default, as far
// as it may go.
function rangeAround(field) {
  const { minimum = 0, maximum = 1, default: usual } = field;
  if (minimum < 0) return new Range(minimum, maximum);
  if (usual > 0) return new Range(Math.max(minimum, usual / 100), Math.min(maximum, usual * 100));
  return new Range(minimum, Math.min(maximum, 100));
}

// Fills the places of the controls anew. `changed()` is called after each change of the scenario.
function showControls(scenario, offered, changed) {
  const { schema, aqms } = offered;
  const world = scenario.topology ? "network" : "slotted";
  const row = (path, name, ...ends) => {
    const field = described(schema, scenario, path);
    if (!field) return [];
    const trip = path === "topology.delay_s" ? roundTrip(scenario) : null;
    if (path === "topology.delay_s" && !trip) return [];
    const value = trip ? trip.get() : (at(scenario, path) ?? field.default);
    const range = new Range(...ends, IN_SECONDS.includes(path));
    const told = trip ? { ...field, description: trip.help } : field;
    return [control(name, told, value ?? field.minimum, range, (given) => {
      if (trip) trip.set(given);
      else set(scenario, path, given);
      const needs = needsOf(path, given);
      if (needs) Object.assign(at(scenario, path.replace(/\.[^.]+$/, "")), needs);
      changed(Boolean(needs));
    })];
  };
  const shared = FIELDS[world].flatMap((each) => row(...each));
  (scenario.flows ?? []).forEach((flows, place) => {
    const name = scenario.flows.length > 1 ? `${flows.label ?? `flows ${place}`}: ` : "";
    const rows = [...OF_FLOWS, ...(flows.kind === "call" ? OF_CALLS : [])];
    shared.push(...rows.flatMap(([path, of, ...ends]) => row(`flows.${place}.${path}`, name + of, ...ends)));
  });
  document.getElementById("shared").replaceChildren(...shared);
  scenario.disciplines.forEach((discipline, place) => {
    const id = document.getElementById(SIDES[place]);
    id.replaceChildren(...ofDiscipline(scenario, place, schema, aqms, changed));
  });
}

function ofDiscipline(scenario, place, schema, aqms, changed) {
  const discipline = scenario.disciplines[place];
  const edit = (work, anew) => {
    // a label may tell of the old parameters
    delete discipline.label;
    work();
    changed(anew);
  };
  const names = { enum: aqms.map((aqm) => aqm.name), description: schema.$defs[`params of ${discipline.aqm}`]?.description };
  const rows = [control("AQM", names, discipline.aqm, null, (name) => edit(() => {
    discipline.aqm = name;
    delete discipline.params;
    if (!aqms.find((aqm) => aqm.name === name)?.coupled) return;
    delete discipline.scheduler;
    discipline.ecn = true;
  }, true))];
  const { when = {}, coupled = false } = aqms.find((aqm) => aqm.name === discipline.aqm) ?? {};
  for (const { name, field, value } of inForce(discipline, { schema, aqms })) {
    const decides = Object.values(when).some((each) => each.startsWith(`${name}=`));
    rows.push(control(name, field, value, rangeAround(field), (given) => edit(() => {
      (discipline.params ??= {})[name] = given;
    }, decides)));
  }
  for (const [path, name] of OF_DISCIPLINE) {
    // a coupled discipline is its own scheduler, and marks
    if (coupled && path !== "victim") continue;
    const isKind = path === "scheduler.kind";
    const field = isKind ? kinds(schema, "Scheduler") : described(schema, scenario, `disciplines.${place}.${path}`);
    const value = at(discipline, path) ?? (isKind ? "fifo" : (scenario.queue?.[path] ?? schema.$defs.Queue.properties[path].default));
    rows.push(control(name, field, value, null, (given) => edit(() => {
      if (isKind) discipline.scheduler = { kind: given };
      else discipline[path] = given;
    })));
  }
  return rows;
}

// Returns the parameters of a discipline that mean something with its others, and their values.
function inForce(discipline, { schema, aqms }) {
  const params = schema.$defs[`params of ${discipline.aqm}`]?.properties ?? {};
  const { when = {} } = aqms.find((aqm) => aqm.name === discipline.aqm) ?? {};
  const valueOf = (name) => discipline.params?.[name] ?? params[name].default;
  const means = (name) => {
    const [other, words] = (when[name] ?? "").split("=");
    return !other || words.split("|").includes(String(valueOf(other)));
  };
  return Object.entries(params).filter(([name]) => means(name)).map(([name, field]) => ({ name, field, value: valueOf(name) }));
}

// Returns a choice among the kinds of a table.
function kinds(schema, name) {
  const of = schema.$defs[name];
  const known = of.oneOf.map((part) => schema.$defs[part.$ref.split("/").pop()]);
  return { enum: known.map((each) => each.properties.kind.const), description: "How packets are spread over queues." };
}

// The round-trip time of a dumb-bell without a queue, on the shortest way: twice its three delays.
// It is set by the bottleneck's delay.
function roundTrip(scenario) {
  const { topology } = scenario;
  if (topology.kind !== "dumbbell") return null;
  const hosts = Math.min(...(topology.client_delays_s ?? [0.01])) + (topology.server_delay_s ?? 0.0025);
  const rounded = (each) => Number(each.toPrecision(9));
  return {
    help: `Time to the other end and back without a queue, on the shortest way; at least ${rounded(2e3 * hosts)} ms, which the links to the hosts take.`,
    get: () => rounded(2 * ((topology.delay_s ?? 0.0025) + hosts)),
    set: (value) => { topology.delay_s = rounded(Math.max(value / 2 - hosts, 0)); },
  };
}
