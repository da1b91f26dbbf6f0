// One discipline in a worker of its own. Each message carries the number of its run, so that the
// page can tell late answers.
"use strict";

// longest time of work between two messages, ms
const SPELL_MS = 12;
let engine = null;
let end = 0;

const tasks = {
  async begin({ module, toml, discipline }) {
    engine ??= await Engine.of(module);
    const about = engine.begin(toml, discipline);
    end = about.end;
    return { about };
  },

  // Advances step by step until a time, but not for long; answers a row of numbers for each step.
  advance({ from, until, step }) {
    const size = engine.offered.row.length;
    const rows = [];
    const started = performance.now();
    let now = from;
    const due = () => (until < end ? now + step <= until : now < end);
    while (due() && performance.now() - started < SPELL_MS) {
      now = Math.min(now + step, end);
      engine.advance(now);
      const row = new Float64Array(size);
      engine.observe(row);
      rows.push(row);
    }
    return { rows, now };
  },

  record() {
    return { record: engine.record() };
  },
};

self.onmessage = async ({ data }) => {
  let answer;
  try {
    answer = await tasks[data.task](data);
  } catch (error) {
    // after a trap the instance is of no use
    if (error instanceof WebAssembly.RuntimeError) engine = null;
    answer = { error: error.message };
  }
  self.postMessage({ task: data.task, run: data.run, ...answer });
};
