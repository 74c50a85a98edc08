const field = (name) => document.getElementById(name);
const MOVED = 0.005; // as a share of the score: smaller changes do not count
let asked = 0;

function typed() {
  return {
    hypothesis: field("hypothesis").value,
    references: field("references").value.split("\n").filter((line) => line.trim()).slice(0, 20),
    source: field("source").value.trim() || null,
    task: field("task").value,
    metrics: [...document.querySelectorAll("input[name=metric]:checked")].map((box) => box.value),
  };
}

async function ask(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const text = await answer.text();
  let read;
  try { read = JSON.parse(text); } catch { read = { error: text }; }
  if (!answer.ok) throw new Error(read.error || "the server refused");
  return read;
}

function scoreRow(row) {
  const value = row.score === null ? el("span", { class: "meaning", text: row.why || "no score" }) : number(row.score);
  const cell = el("td", null);
  if (row.score !== null) {
    const bar = el("span", { class: "bar" });
    const size = Math.abs(row.score) <= 1 ? Math.abs(row.score) : Math.abs(row.score) / 100;
    bar.style.width = `${Math.min(100, 100 * size)}%`;
    cell.append(bar);
  }
  if (row.explanation) cell.append(explanationView(row.explanation));
  return el("tr", { "data-metric": row.metric }, el("th", { scope: "row", text: row.metric }), el("td", null, value), cell);
}

function showScores(answer) {
  const open = new Set([...field("scores").querySelectorAll("tr")].filter((row) => row.querySelector("details[open]")).map((row) => row.dataset.metric));
  const head = el("thead", null, el("tr", null, el("th", { text: "metric" }), el("th", { text: "score" }), el("th", { text: "" })));
  const body = el("tbody", null, ...answer.scores.map(scoreRow));
  field("scores").replaceChildren(el("table", { class: "scores" }, head, body));
  for (const row of body.querySelectorAll("tr")) if (open.has(row.dataset.metric) && row.querySelector("details")) row.querySelector("details").open = true;
}

// Right is a lower score after an error, and the same score after an edit that must not matter.
function answeredRight(expect, [before, after]) {
  const moved = after - before, least = MOVED * Math.max(Math.abs(before), 1e-9);
  return expect === "lower" ? moved < -least : Math.abs(moved) <= 10 * least;
}

function changeRow(row, base) {
  const pairs = Object.entries(row.scores).filter(([, pair]) => pair[0] !== null && pair[1] !== null);
  const right = pairs.filter(([, pair]) => answeredRight(row.expect, pair)).length;
  const moves = pairs.map(([metric, pair]) => {
    const good = answeredRight(row.expect, pair);
    return el("div", { class: "move" }, `${metric} ${number(pair[0])} → ${number(pair[1])} `, el("strong", { text: good ? "✓" : "✗", class: good ? "" : "wrong" }));
  });
  const kind = pairs.length ? (right * 2 < pairs.length ? "bad" : "good") : "";
  return el("tr", { class: kind }, el("td", null, el("strong", { text: row.name }), el("br"), el("small", { class: "meaning", text: `${row.kind}; should ${row.expect === "lower" ? "fall" : "stay"}` })),
    el("td", null, el("div", { class: "case" }, markedText(base, row.text))), el("td", null, ...moves));
}

function showChanges(answer, base) {
  const head = el("thead", null, el("tr", null, el("th", { text: "edit" }), el("th", { text: "text" }), el("th", { text: "scores" })));
  const rows = answer.changes.map((row) => changeRow(row, base));
  field("changes").replaceChildren(rows.length ? el("table", { class: "changes" }, head, el("tbody", null, ...rows)) : el("p", { class: "meaning", text: "No edit applies to this text." }));
}

async function refresh() {
  const mine = ++asked;
  const body = typed();
  field("message").textContent = "";
  if (!body.hypothesis.trim()) { field("scores").replaceChildren(); field("changes").replaceChildren(); return; }
  for (const name of ["scores", "changes"]) field(name).classList.add("busy");
  try {
    const scores = await ask("/api/score", body);
    if (mine !== asked) return;
    showScores(scores);
    field("scores").classList.remove("busy");
    const changes = await ask("/api/changes", body);
    if (mine !== asked) return;
    showChanges(changes, body.hypothesis);
  } catch (error) {
    if (mine === asked) field("message").textContent = error.message;
  }
  if (mine === asked) for (const name of ["scores", "changes"]) field(name).classList.remove("busy");
}

let waiting = null;
field("form").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refresh, 350); });
field("form").addEventListener("submit", (event) => { event.preventDefault(); refresh(); });
const root = document.documentElement;
root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
field("theme").addEventListener("click", () => { root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark"; });
refresh();
