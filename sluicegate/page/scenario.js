// The scenario that the page runs, as an object like that of its TOML, and its other forms: TOML, a
// link, and what the schema says of a field.
"use strict";

const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

// Returns the value at the end of a path such as `flows.0.count`.
function at(table, path) {
  return path.split(".").reduce((part, step) => part?.[step], table);
}

// Sets the value at the end of a path; tables on the way are made.
function set(table, path, value) {
  const steps = path.split(".");
  const last = steps.pop();
  let part = table;
  for (const step of steps) part = part[step] ??= {};
  part[last] = value;
}

// Returns all values within a table by their paths.
function flat(value, path = "") {
  if (!isTable(value) && !Array.isArray(value)) return { [path]: value };
  const parts = Object.entries(value).map(([name, part]) => flat(part, path ? `${path}.${name}` : name));
  return Object.assign({}, ...parts);
}

// --- TOML

const tomlKey = (key) => (/^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key));

function tomlValue(value) {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (!isTable(value)) return JSON.stringify(value);
  const rows = Object.entries(value).map(([key, each]) => `${tomlKey(key)} = ${tomlValue(each)}`);
  return rows.length ? `{ ${rows.join(", ")} }` : "{}";
}

// Returns the TOML of a scenario: values first, then a part for each table.
function toml(scenario) {
  const lines = (table) => Object.entries(table).map(([key, each]) => `${tomlKey(key)} = ${tomlValue(each)}\n`).join("");
  const isTables = (value) => Array.isArray(value) && value.length > 0 && value.every(isTable);
  const all = Object.entries(scenario);
  const plain = all.filter(([, value]) => !isTable(value) && !isTables(value));
  const parts = all.flatMap(([key, value]) => {
    if (isTables(value)) return value.map((each) => `\n[[${tomlKey(key)}]]\n${lines(each)}`);
    return isTable(value) ? [`\n[${tomlKey(key)}]\n${lines(value)}`] : [];
  });
  return lines(Object.fromEntries(plain)) + parts.join("");
}

// --- the link: what differs from the scenario that the page was made from

const SIDES = ["left", "right"];

// Returns the text behind `#`. `view` has values that are no part of the scenario.
function linkOf(scenario, base, view) {
  const found = new URLSearchParams();
  const { disciplines, ...rest } = scenario;
  const before = flat({ ...base, disciplines: [] });
  for (const [path, value] of Object.entries(flat(rest))) {
    if (before[path] !== value) found.set(path, value);
  }
  disciplines.forEach((discipline, place) => {
    if (JSON.stringify(discipline) === JSON.stringify(base.disciplines[place])) return;
    for (const [path, value] of Object.entries(flat(discipline))) found.set(`${SIDES[place]}.${path}`, value);
  });
  for (const [name, value] of Object.entries(view)) found.set(name, value);
  return found.toString();
}

// Changes a scenario as a link says; returns the values of the view.
function follow(link, scenario, viewNames) {
  const view = {};
  // a link from elsewhere must not reach what all objects share
  const isOwn = ([path]) => !path.split(".").some((step) => step in Object.prototype);
  const given = [...new URLSearchParams(link)].filter(isOwn);
  SIDES.forEach((side, place) => {
    if (given.some(([path]) => path.startsWith(`${side}.`))) scenario.disciplines[place] = {};
  });
  for (const [path, text] of given) {
    const value = fromLink(text);
    const [first, ...rest] = path.split(".");
    if (viewNames.includes(path)) view[path] = value;
    else if (SIDES.includes(first)) set(scenario.disciplines[SIDES.indexOf(first)], rest.join("."), value);
    else if (at(scenario, first) !== undefined || rest.length === 0) set(scenario, path, value);
  }
  return view;
}

function fromLink(text) {
  if (text === "true" || text === "false") return text === "true";
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

// --- the schema

// Returns what the schema says of the field at a path of a scenario: description, unit, minimum,
// maximum, default, enum; undefined if it has no such field.
function described(schema, scenario, path) {
  const follow = (part) => (part?.$ref ? schema.$defs[part.$ref.split("/").pop()] : part);
  let part = schema.$defs[scenario.topology ? "NetworkScenario" : "Scenario"];
  let value = scenario;
  for (const step of path.split(".")) {
    part = part?.items && /^\d+$/.test(step) ? part.items : part?.properties?.[step];
    value = value?.[step];
    part = follow(part);
    if (part?.oneOf) {
      const kinds = part.oneOf.map(follow);
      part = kinds.find((each) => each.properties?.kind?.const === value?.kind);
    }
  }
  return part;
}
