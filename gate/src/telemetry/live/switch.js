// the form by which a discipline is chosen; it exists only where sluiced has a token
let offered = [];

function field(param, given) {
  const row = document.createElement("div");
  row.className = "field";
  const label = document.createElement("label");
  label.textContent = param.unit ? `${param.name} (${param.unit})` : param.name;
  label.htmlFor = `param-${param.name}`;
  const input = document.createElement(param.words.length ? "select" : "input");
  input.id = label.htmlFor;
  input.dataset.name = param.name;
  for (const word of param.words) input.add(new Option(word, word));
  if (!param.words.length) {
    input.inputMode = "decimal";
    input.size = 10;
  }
  input.value = given ?? param.initial;
  input.dataset.initial = param.initial;
  const help = document.createElement("small");
  const range = param.words.length ? "" : ` From ${param.least} to ${param.greatest}.`;
  help.textContent = `${param.help}.${range}${param.when ? ` Used with ${param.when}.` : ""}`;
  row.append(label, input, help);
  return row;
}

// what is written after --aqm; values that are the default are left out
function discipline() {
  const inputs = [...$("params").querySelectorAll("input, select")];
  const changed = inputs.filter((input) => input.value !== input.dataset.initial);
  const parts = changed.map((input) => `${input.dataset.name}=${input.value.trim()}`);
  if ($("ecn").value) parts.push(`ecn=${$("ecn").value}`);
  return $("aqm").value + (parts.length ? `:${parts.join(",")}` : "");
}

function choose(text) {
  const [name, rest = ""] = text.split(/:(.*)/s);
  const given = Object.fromEntries(rest.split(",").filter(Boolean).map((part) => part.split(/=(.*)/s)));
  const aqm = offered.find((each) => each.name === name) ?? offered[0];
  $("aqm").value = aqm.name;
  $("aqm-help").textContent = `${aqm.title}. ${aqm.summary}`;
  $("ecn").value = given.ecn ?? "";
  $("params").replaceChildren(...aqm.params.map((param) => field(param, given[param.name])));
  $("text").textContent = `--aqm ${discipline()}`;
}

async function send(event) {
  event.preventDefault();
  $("switched").textContent = "…";
  try {
    const answer = await fetch("discipline", {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${$("token").value}` },
      body: JSON.stringify({ link: chosen.link, discipline: discipline() }),
    });
    if (!answer.ok) $("switched").textContent = `refused: ${await answer.text()}`;
  } catch {
    $("switched").textContent = "sluiced does not answer";
  }
}

async function start_switch() {
  offered = await (await fetch("disciplines")).json();
  for (const { name } of offered) $("aqm").add(new Option(name, name));
  choose(chosen.aqm ?? "codel");
  $("aqm").onchange = () => { choose($("aqm").value); keep(); };
  $("form").oninput = () => { $("text").textContent = `--aqm ${discipline()}`; keep(); };
  $("form").onsubmit = send;
  $("switch").hidden = false;
}
