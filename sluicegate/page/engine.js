// The engine, compiled to WebAssembly: engine/page is the other side. This file also runs in Node.
"use strict";

class Engine {
  // bytes: those of the module
  static async of(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Engine(instance.exports);
  }

  constructor(calls) {
    this.calls = calls;
    this.offered = JSON.parse(this.told(calls.sluice_describe()));
  }

  // Begins the first replication of a scenario with one of its disciplines, counted from 0; returns
  // what is known of the run.
  begin(toml, discipline) {
    const text = new TextEncoder().encode(toml);
    const place = this.calls.sluice_input(text.length);
    new Uint8Array(this.calls.memory.buffer, place, text.length).set(text);
    return JSON.parse(this.told(this.calls.sluice_begin(discipline)));
  }

  // Advances the run to a time, s or slots, or to its end if that comes first.
  advance(until) {
    this.told(this.calls.sluice_advance(until));
  }

  // Copies what can be seen now into a row, whose numbers have the names of `offered.row`.
  observe(row) {
    const place = this.calls.sluice_observe();
    row.set(new Float64Array(this.calls.memory.buffer, place, this.offered.row.length));
  }

  // Advances the run to its end, and returns its counts as the text of JSON.
  record() {
    return this.told(this.calls.sluice_record());
  }

  // Returns the text of the last call, as an error if it failed.
  told(failed) {
    const { memory, sluice_text, sluice_text_bytes } = this.calls;
    const bytes = new Uint8Array(memory.buffer, sluice_text(), sluice_text_bytes());
    const text = new TextDecoder().decode(bytes);
    if (failed) throw new Error(text);
    return text;
  }
}
