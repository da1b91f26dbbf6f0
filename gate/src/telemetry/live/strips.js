"use strict";
const $ = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const mbps = (bps) => bps / 1e6;
const per_second = (row, count) => row[count] / row.interval_s;
const of_class = (name) => (row) => (row.classes.find((each) => each[0] === name) ?? [])[2] ?? null;

// least time that is shown, s: soon after the start there are few records, and all of them have room
const LEAST_S = 30;

// a strip: its title and unit, how it is read, and its lines: name, colour, value of a row, dashes
const STRIPS = [
  ["Rate", "Mbit/s", "What came to the queue, and what left it. While more comes than the link carries, the queue grows.", [
    ["came", "--b", (row) => mbps(row.arrived_bps)],
    ["left", "--a", (row) => mbps(row.sent_bps)],
    ["the link carries", "--c", (row) => mbps(row.rate_bps), [6, 4]],
  ]],
  ["Queue", "packets", "Packets that wait, on average and at most in each interval. An AQM that keeps an average of its own decides by that.", [
    ["most", "--b", (row) => row.queue_max],
    ["mean", "--a", (row) => row.queue_mean],
    ["the AQM's own average", "--c", (row) => row.average_queue, [6, 4]],
  ]],
  ["Sojourn", "ms", "How long packets waited before they were sent: half of them no longer than the median, one in a hundred longer than p99. Voice and games feel p99.", [
    ["p99", "--b", (row) => row.sojourn_ms.p99],
    ["median", "--a", (row) => row.sojourn_ms.p50],
  ]],
  ["Sojourn by class", "ms", "The mean wait by what packets ask for in their headers: L4S by ECN, priority and background by DSCP. Lines lie on each other where the discipline treats all alike; a qdisc of the kernel does not tell it.", [
    ["best effort", "--a", of_class("best effort")],
    ["L4S", "--b", of_class("L4S")],
    ["priority", "--c", of_class("priority")],
    ["background", "--d", of_class("background")],
  ]],
  ["Drops and marks", "packets per second", "Early: the AQM chose them, to slow senders down. Overflow: there was no room, so the AQM came too late. Marks slow senders down without a loss.", [
    ["early drops", "--a", (row) => per_second(row, "early")],
    ["overflow", "--b", (row) => per_second(row, "overflow")],
    ["marks", "--c", (row) => per_second(row, "marked"), [6, 4]],
  ]],
  ["Lateness", "ms", "From when a packet was due until it was let go: the delay of this machine itself, which no AQM can mend. If it comes near the sojourn, try --timer realtime.", [
    ["longest", "--b", (row) => row.lateness_ms.max],
    ["p99", "--a", (row) => row.lateness_ms.p99],
  ]],
];
// of the queue and its shadow, side by side
const own = (value) => (row) => value(row);
const shadow = (value) => (row) => (row.shadow ? value(row.shadow) : null);
const pair = (value, more = []) => [["at work", "--a", own(value)], ["shadow", "--b", shadow(value)], ...more];
const SHADOW = [
  ["Queue", "packets", "The mean of each interval.", pair((row) => row.queue_mean)],
  ["Sojourn, p99", "ms", "One packet in a hundred waited longer.", pair((row) => row.sojourn_ms.p99)],
  ["Drops", "packets per second", "Early drops and overflow together.", pair((row) => per_second(row, "dropped"))],
  ["Marks", "packets per second", "Packets that were let through with a mark.", pair((row) => per_second(row, "marked"))],
];

const short = (value) => (value == null ? "–" : String(Number(value.toPrecision(3))));

class Strip {
  constructor([title, unit, about, lines], within) {
    Object.assign(this, { title, unit, lines });
    const figure = document.createElement("figure");
    figure.className = "strip";
    const add = (tag, text, of = figure) => of.appendChild(Object.assign(document.createElement(tag), { textContent: text }));
    add("h3", `${title} (${unit})`);
    const key = add("ul", "");
    key.className = "key";
    for (const [name, of, , dash] of lines) {
      const item = add("li", name, key);
      item.style.setProperty("--of", `var(${of})`);
      if (dash) item.style.setProperty("--dash", "dashed");
    }
    this.plot = add("div", "");
    this.plot.className = "plot";
    this.plot.setAttribute("role", "img");
    add("figcaption", about);
    within.append(figure);
    this.uplot = new uPlot(this.options(), [[], ...lines.map(() => [])], this.plot);
    new ResizeObserver(() => this.uplot.setSize(this.size())).observe(this.plot);
  }

  size() {
    return { width: Math.max(200, this.plot.clientWidth), height: this.plot.clientHeight };
  }

  options() {
    const axis = { stroke: () => colour("--ink"), grid: { stroke: () => colour("--line") }, ticks: { show: false } };
    return {
      ...this.size(),
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, range: (_, first) => [-Math.min(span(), Math.max(LEAST_S, -(first ?? 0))), 0] }, y: { range: (_, __, most) => [0, most > 0 ? 1.1 * most : 1] } },
      axes: [
        { ...axis, size: 28, values: (_, all) => all.map((s) => (s ? `${s} s` : "now")) },
        { ...axis, size: 60, values: (_, all) => all.map(short) },
      ],
      series: [{}, ...this.lines.map(([name, of, , dash]) => ({
        label: name, stroke: () => colour(of), width: 1.5, dash, points: { show: false }, spanGaps: true,
      }))],
    };
  }

  draw(rows, times) {
    this.uplot.setData([times, ...this.lines.map(([, , value]) => rows.map(value))]);
    const last = rows.at(-1);
    const told = last && this.lines.map(([name, , value]) => `${name} ${short(value(last))}`).join(", ");
    this.plot.setAttribute("aria-label", `${this.title}, ${this.unit}, in the last interval: ${told ?? "nothing yet"}`);
  }
}
