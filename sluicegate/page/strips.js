// The strips: what is seen of both disciplines in time, drawn on canvases.
"use strict";

// The rows of one discipline, the newest last; the oldest make room.
class Rows {
  constructor(names) {
    this.column = Object.fromEntries(names.map((name, place) => [name, place]));
    this.rows = [];
  }

  add(rows, since) {
    this.rows.push(...rows);
    // one row before the first that is seen, from which differences start
    let gone = 0;
    while (gone + 2 < this.rows.length && this.rows[gone + 1][0] < since) gone += 1;
    if (gone > 256) this.rows.splice(0, gone);
  }

  get last() {
    return this.rows[this.rows.length - 1];
  }
}

const difference = (name) => (now, before, column) => now[column[name]] - before[column[name]];
const value = (name) => (now, _before, column) => now[column[name]];
const bits = 8;

// Each strip: its title, unit, and lines, which are functions of a row and of the one before. A line
// may be `bars`, one for each row, or have a `band` between two others. `rate` strips are shown over
// a longer time than a row's, so that single packets do not make them jump. `parameters` of the
// discipline are shown as levels.
const STRIPS = [
  {
    title: "Queue",
    unit: "packets",
    lines: [{ name: "queue", of: value("queue_packets") }, { name: "dashed: the AQM's average", of: value("average_packets"), dashed: true }],
    parameters: ["min_th", "max_th", "q_ref"],
  },
  {
    title: "Sojourn",
    unit: { s: "ms", slots: "slots" },
    scale: { s: 1e3, slots: 1 },
    lines: [{ name: "mean of the packets sent", of: (now, before, column) => difference("sojourn")(now, before, column) / difference("sent")(now, before, column) }],
    parameters: ["target"],
  },
  {
    title: "Drops and marks",
    unit: "packets",
    lines: [
      { name: "dropped", of: difference("lost"), bars: true },
      { name: "marked", of: difference("marked"), bars: true, pale: true },
    ],
  },
  {
    title: "Windows",
    unit: "packets",
    world: "network",
    lines: [{ name: "mean, and from least to greatest", of: value("window_mean"), band: [value("window_least"), value("window_greatest")] }],
  },
  {
    title: { network: "Goodput", slotted: "Throughput" },
    unit: { s: "Mb/s", slots: "packets per slot" },
    rate: true,
    lines: [{ name: { network: "over 1/50 of the strip; above the link's rate where a retransmission comes, and what waited for it is delivered with it", slotted: "over 1/50 of the strip" } }],
  },
];

// Returns the levels of a strip: what they are called, and where they are.
function levels(strip, about, scenario, parameters) {
  const rate = scenario.topology?.rate_bps;
  // a link that is named may have a rate that varies
  if (strip.rate) return Number.isFinite(rate) && !Object.keys(scenario.links ?? {}).length ? [{ name: "link", at: rate / 1e6 }] : [];
  const unit = strip.scale ? about.unit : strip.unit;
  const scale = strip.scale ? strip.scale[unit] : 1;
  return parameters.filter(({ name, field, value }) => strip.parameters?.includes(name) && field.unit === unit && value > 0)
    .map(({ name, value }) => ({ name, at: scale * value }));
}

// Returns what a strip says for this run, whose values may depend on its unit or world.
const chosen = (given, about) => (isTable(given) ? (given[about.unit] ?? given[about.world]) : given);

const goodput = {
  s: (now, before, column) => (difference("delivered_bytes")(now, before, column) * bits) / 1e6 / (now[0] - before[0]),
  slots: (now, before, column) => difference("sent")(now, before, column) / (now[0] - before[0]),
};

// Returns the points of a line: times and values.
function points(rows, line, strip, about, since, until, window) {
  const { rows: all, column } = rows;
  const scale = strip.scale ? strip.scale[about.unit] : 1;
  const times = [], values = [];
  let back = 0;
  for (let place = 1; place < all.length; place += 1) {
    const now = all[place];
    if (now[0] < since || now[0] > until) continue;
    if (strip.rate) {
      while (back + 1 < place && all[back + 1][0] <= now[0] - window / 50) back += 1;
      times.push(now[0]);
      values.push(goodput[about.unit](now, all[back], column));
    } else {
      times.push(now[0]);
      values.push(scale * line.of(now, all[place - 1], column));
    }
  }
  return { times, values };
}

// Returns the next of 1, 2, 5, 10, ... that is not below a value.
function rounded(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= most * 0.999);
}

const LEFT = 46, TOP = 6, BOTTOM = 18;

// A strip of one discipline on its canvas.
class Strip {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
  }

  // Fits the canvas to its place on the screen; returns its size, pixels of the page.
  fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const density = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * density) || this.canvas.height !== Math.round(height * density)) {
      this.canvas.width = Math.round(width * density);
      this.canvas.height = Math.round(height * density);
    }
    this.context.setTransform(density, 0, 0, density, 0, 0);
    return { width, height };
  }

  draw(lines, levels, most, [since, until], unit, colours) {
    const { width, height } = this.fit();
    const context = this.context;
    context.clearRect(0, 0, width, height);
    const x = (time) => LEFT + ((time - since) / (until - since)) * (width - LEFT - 4);
    const y = (each) => height - BOTTOM - (Math.min(each, most) / most) * (height - TOP - BOTTOM);
    this.frame(x, y, most, [since, until], unit, colours);
    const seen = levels.filter(({ at }) => at <= most);
    for (const { at } of seen) this.level(x(since), x(until), y(at), colours);
    for (const { line, drawn, band } of lines) {
      context.strokeStyle = line.pale ? colours.pale : colours.line;
      context.fillStyle = colours.band;
      context.lineWidth = 1.25;
      context.setLineDash(line.dashed ? [4, 3] : []);
      if (line.dashed) context.strokeStyle = colours.ink;
      if (band) this.band(band, x, y);
      if (line.bars) this.bars(drawn, x, y);
      else this.line(drawn, x, y);
    }
    context.setLineDash([]);
    // above the lines, with a border of the page's colour
    context.fillStyle = colours.faint;
    context.strokeStyle = colours.paper;
    context.lineWidth = 4;
    for (const { name, at } of seen) {
      context.strokeText(name, x(since) + 4, y(at) - 3);
      context.fillText(name, x(since) + 4, y(at) - 3);
    }
  }

  frame(x, y, most, [since, until], unit, colours) {
    const context = this.context;
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = colours.faint;
    context.strokeStyle = colours.grid;
    context.lineWidth = 1;
    context.beginPath();
    for (const each of [0, most / 2, most]) {
      context.moveTo(LEFT, y(each));
      context.lineTo(x(until), y(each));
    }
    context.stroke();
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const each of [0, most / 2, most]) context.fillText(short(each), LEFT - 5, y(each) + (each === most ? 2 : 0));
    context.textBaseline = "alphabetic";
    context.fillText(`${short(until)} ${unit}`, x(until), y(0) + 15);
    context.textAlign = "left";
    context.fillText(short(Math.max(since, 0)), x(Math.max(since, 0)), y(0) + 15);
  }

  level(left, right, height, colours) {
    const context = this.context;
    context.strokeStyle = colours.faint;
    context.setLineDash([1, 3]);
    context.beginPath();
    context.moveTo(left, height);
    context.lineTo(right, height);
    context.stroke();
  }

  line({ times, values }, x, y) {
    const context = this.context;
    context.beginPath();
    let open = false;
    for (let place = 0; place < times.length; place += 1) {
      const each = values[place];
      if (!Number.isFinite(each)) continue;
      if (open) context.lineTo(x(times[place]), y(each));
      else context.moveTo(x(times[place]), y(each));
      open = true;
    }
    context.stroke();
  }

  band([least, greatest], x, y) {
    const context = this.context;
    context.beginPath();
    const { times } = greatest;
    for (let place = 0; place < times.length; place += 1) {
      if (Number.isFinite(greatest.values[place])) context.lineTo(x(times[place]), y(greatest.values[place]));
    }
    for (let place = times.length - 1; place >= 0; place -= 1) {
      if (Number.isFinite(least.values[place])) context.lineTo(x(times[place]), y(least.values[place]));
    }
    context.fill();
  }

  bars({ times, values }, x, y) {
    const context = this.context;
    context.beginPath();
    for (let place = 0; place < times.length; place += 1) {
      if (!(values[place] > 0)) continue;
      context.moveTo(x(times[place]), y(0));
      context.lineTo(x(times[place]), y(values[place]));
    }
    context.stroke();
  }
}

// Returns a number with about four digits.
function short(number) {
  if (!Number.isFinite(number)) return "–";
  if (Number.isInteger(number)) return number.toLocaleString("en");
  if (number !== 0 && Math.abs(number) < 1e-3) return number.toExponential(1);
  return Number(number.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
}

// The colours of the style sheet, light or dark.
function colours(side) {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return { line: of(side), band: of(`${side}-band`), pale: of("mark"), ink: of("ink"), faint: of("faint"), grid: of("line"), paper: of("paper") };
}

// Draws all strips of both sides, each pair with the same scale. `sides` have `rows`, `canvases`,
// `colours`, and for each strip `levels`; `until` is the time of the right edge.
function drawStrips(sides, strips, about, until, window) {
  const span = [until - window, until];
  strips.forEach((strip, place) => {
    const drawn = sides.map((side) => strip.lines.map((line) => {
      const of = (each) => points(side.rows, { ...line, of: each }, strip, about, ...span, window);
      return { line, drawn: of(line.of), band: line.band?.map(of) };
    }));
    const greatest = drawn.flat().flatMap(({ drawn: { values }, band }) => [values, ...(band ?? []).map((each) => each.values)]);
    const most = rounded(greatest.flat().reduce((most, each) => (each > most ? each : most), 0));
    sides.forEach((side, number) => side.strips[place].draw(drawn[number], side.levels[place], most, span, about.unit, side.colours));
  });
}
