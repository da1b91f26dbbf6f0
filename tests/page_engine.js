// Runs cases in the engine for pages under Node: each line of the input is a JSON object with `toml`
// and `steps`, times at which the run is observed; each line of the output is a record.
const fs = require("fs");
const [code, wasm] = process.argv.slice(2);
const Engine = new Function(`${fs.readFileSync(code, "utf8")}; return Engine;`)();

Engine.of(fs.readFileSync(wasm)).then((engine) => {
  const row = new Float64Array(engine.offered.row.length);
  for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) {
    const { toml, steps } = JSON.parse(line);
    try {
      engine.begin(toml, 0);
      for (const time of steps) {
        engine.advance(time);
        engine.observe(row);
      }
      console.log(engine.record());
    } catch (error) {
      console.log(JSON.stringify({ error: error.message }));
    }
  }
});
