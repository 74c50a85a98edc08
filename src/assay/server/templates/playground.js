const field = (name) => document.getElementById(name);
const EXAMPLES = JSON.parse(field("examples").textContent);
const NAMES = new Map(JSON.parse(field("names").textContent).map(({ label, name }) => [label, name]));
const nameOf = (metric) => NAMES.get(metric) || metric;
const UNFAIR = 0.25, HARMLESS = 1; // of a lost word: the first as in the audits
const CHIPS = ["change-numbers", "change-names", "negate", "negation", "antonyms"];
const SHOWN = 15;
const FAULTS = 4; // of a metric that the summary names
const SAME = 1e-6; // of their size: scores that differ by less are equal
let asked = null; // the request under way
let original = null; // what a chip changed: the text, its references and their scores
let known = { metrics: [], rows: new Map(), edits: [], after: new Map(), base: "", references: [] };

function typed() {
  return {
    hypothesis: field("hypothesis").value,
    references: field("references").value.split("\n").filter((line) => line.trim()).slice(0, 20),
    source: field("source").value.trim() || null,
    task: field("task").value,
    metrics: [...document.querySelectorAll("input[name=metric]:checked")].map((box) => box.value),
  };
}

// --- what is shown ---

// What the loss of one content word costs a metric here, on average; null where it costs nothing.
function lostWord(row) {
  if (!row || typeof row.score !== "number" || !row.lost?.length) return null;
  const cost = row.score - row.lost.reduce((sum, score) => sum + score, 0) / row.lost.length;
  return cost > SAME * Math.abs(row.score) ? cost : null;
}

function scoreRow(metric) {
  const row = known.rows.get(metric), view = el("tr", { "data-metric": metric }, el("th", { scope: "row", text: nameOf(metric) }));
  if (!row) return view.append(el("td", null, el("span", { class: "spinner" })), el("td", { class: "meaning", text: "waiting" })), view;
  if (row.score === null) return view.append(el("td"), el("td", { class: "meaning", text: [row.why || "no score", row.budget].filter(Boolean).join("; ") })), view;
  const cost = lostWord(row);
  const cell = el("td", null, cost === null ? (row.lost?.length ? el("small", { class: "meaning", text: "nothing: it does not notice a lost word here" }) : null) : number(cost));
  if (row.budget) cell.append(el("small", { class: "meaning", text: row.budget }));
  if (row.explanation) cell.append(explanationView(row.explanation));
  const before = original?.scores.get(metric);
  view.append(el("td", { class: "num" }, number(row.score), typeof before === "number" ? el("small", { class: "meaning", text: ` was ${number(before)}` }) : null), cell);
  return view;
}

function showScores() {
  const open = new Set([...field("scores").rows].filter((row) => row.querySelector("details[open]")).map((row) => row.dataset.metric));
  field("scores").replaceChildren(...known.metrics.map(scoreRow));
  for (const row of field("scores").rows) if (open.has(row.dataset.metric) && row.querySelector("details")) row.querySelector("details").open = true;
}

// Whether some reference has a word that an error changes, or the words changed places: otherwise nobody can notice it.
function canTell(edit) {
  const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
  const before = words(known.base), after = words(edit.text), named = new Set(known.references.flatMap(words));
  const changed = [...before.filter((word) => !after.includes(word)), ...after.filter((word) => !before.includes(word))];
  return edit.expect !== "lower" || !named.size || !changed.length || changed.some((word) => named.has(word));
}

// How far an edit moves a metric, in lost words, and whether that is as it should be: an error must lower the score.
function reaction(edit, at, metric) {
  const row = known.rows.get(metric), after = known.after.get(metric)?.[at];
  if (typeof row?.score !== "number" || typeof after !== "number") return null;
  const cost = lostWord(row), change = after - row.score;
  const falls = change < -SAME * Math.max(Math.abs(after), Math.abs(row.score));
  if (edit.expect === "lower") return { moved: cost === null ? null : change / cost, change, right: falls };
  if (cost === null) return null;
  const moved = change / cost, most = edit.kind === "identity" ? UNFAIR : HARMLESS;
  return { moved, change, right: Math.abs(moved) <= most, turned: edit.kind === "identity" ? turnedBy(row, change) : null };
}

// Of decisions between this text and one about the other group, one of them without a word whose loss is noticed, how many turn.
function turnedBy(row, change) {
  const costs = row.lost.map((score) => row.score - score).filter((cost) => cost > SAME * Math.abs(row.score));
  return [costs.filter((cost) => Math.abs(change) >= cost).length, costs.length];
}

function reactions() {
  const rows = known.edits.map((edit, at) => {
    const cells = known.metrics.map((metric) => reaction(edit, at, metric)), settled = cells.filter(Boolean);
    const wrong = settled.filter((cell) => !cell.right).length, moves = settled.map((cell) => cell.moved ?? 0);
    const spread = moves.length ? Math.max(...moves) - Math.min(...moves) : 0;
    if (!canTell(edit)) return null;
    return { edit, at, cells, wrong, settled: settled.length, order: Math.min(wrong, settled.length - wrong) * 1000 + spread };
  });
  return rows.filter(Boolean).sort((a, b) => b.order - a.order || a.at - b.at);
}

// The metrics that can say something of edits; a judge is asked about the text alone.
const isShown = (metric) => isWaiting(metric) || known.after.has(metric);

function effectWords({ moved, change, right }) {
  const mark = right ? "✓" : "✗";
  if (moved === null) return `${change < 0 ? "falls" : change > 0 ? "rises" : "stays"} ${mark}`;
  const shown = Number(moved.toFixed(Math.abs(moved) < 10 ? 2 : 1));
  return `${shown > 0 ? "+" : ""}${shown} ${mark}`;
}

function editRow({ edit, cells }) {
  const should = edit.expect === "lower" ? "should fall" : "should stay";
  return el("tr", null, el("th", { scope: "row" }, el("details", null, el("summary", null, edit.name.replaceAll("-", " "), " ", el("small", { text: should })), el("div", { class: "case" }, markedText(known.base, edit.text)))),
    ...cells.map((cell, column) => {
      if (!isShown(known.metrics[column])) return null;
      if (!cell) return isWaiting(known.metrics[column]) ? el("td", { class: "none" }, el("span", { class: "spinner small-spinner" })) : el("td", { class: "none", text: "–" });
      return el("td", { class: cell.right ? "good" : "bad", "data-label": nameOf(known.metrics[column]) }, effectWords(cell), cell.turned ? el("small", { text: `turns ${cell.turned[0]} of ${cell.turned[1]} decisions` }) : null);
    }));
}

// Whether the effects of edits on a metric are still to come: they never do for a judge, or without a score.
const isWaiting = (metric) => !done && !known.after.has(metric) && (!known.rows.has(metric) || known.rows.get(metric).score !== null);

let all = false, done = false;
function showChanges() {
  if (!known.edits.length) { field("changes").replaceChildren(el("p", { class: "meaning", text: "No edit applies to this text." })); return; }
  const rows = reactions(), shown = all ? rows : rows.slice(0, SHOWN);
  const left = known.metrics.filter((metric) => !isShown(metric)).map(nameOf).join(", ");
  const head = el("tr", null, el("th", { scope: "col", text: "edit" }), ...known.metrics.filter(isShown).map((metric) => el("th", { scope: "col", text: nameOf(metric) })));
  const more = el("button", { type: "button", text: all ? "Show fewer" : `Show all ${rows.length} edits` });
  more.addEventListener("click", () => { all = !all; showChanges(); });
  field("changes").replaceChildren(el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Edits and metrics" }, el("table", { class: "edits" },
    el("caption", { class: "hidden", text: "Change of each metric's score under each edit, in lost words" }), el("thead", null, head), el("tbody", null, ...shown.map(editRow)))),
  rows.length > SHOWN ? more : "", left ? el("p", { class: "meaning", text: `Not in this table: ${left} (it has no score here, or is a judge, which is asked about the text alone).` }) : "");
}

// The faults of every metric on this text, the fewest first.
function showVerdict() {
  const rows = reactions(), waiting = known.metrics.filter((metric) => !known.rows.has(metric)).length;
  const counts = known.metrics.map((metric, column) => {
    const cells = rows.map((row) => [row.edit, row.cells[column]]).filter(([, cell]) => cell);
    return { metric, total: cells.length, wrong: cells.filter(([, cell]) => !cell.right) };
  }).filter((one) => one.total).sort((a, b) => a.wrong.length / a.total - b.wrong.length / b.total);
  if (!counts.length) { field("verdict").textContent = waiting ? "Scoring …" : "No metric here can score this text; add a reference."; return; }
  field("verdict").replaceChildren(el("ul", { class: "plain" }, ...counts.map(faultLine)),
    el("p", { class: "meaning", text: waiting ? `${waiting} still to come.` : "One text proves nothing: run assay audit to be sure." }));
}

function faultLine({ metric, total, wrong }) {
  const missed = wrong.filter(([edit]) => edit.expect === "lower").map(([edit]) => edit.words), minded = wrong.filter(([edit]) => edit.expect !== "lower").map(([edit]) => edit.words);
  const some = (names) => names.slice(0, FAULTS).join(", ") + (names.length > FAULTS ? ` and ${names.length - FAULTS} more` : "");
  const faults = [missed.length ? `does not notice ${some(missed)}` : "", minded.length ? `minds ${some(minded)}` : ""].filter(Boolean).join("; it ");
  return el("li", null, el("strong", { text: nameOf(metric) }), faults ? ` ${faults} (${wrong.length} of ${total} edits).` : ` has no fault here (${total} edits).`);
}

function showChips() {
  const chips = known.edits.filter((edit) => edit.kind === "identity" || CHIPS.includes(edit.name)).slice(0, 14);
  field("chips").replaceChildren(...chips.map((edit) => {
    const chip = el("button", { type: "button", class: "chip", title: edit.text, text: edit.name.replaceAll("-", " ").replace(/^\w+( \w+)?: /, "") });
    chip.addEventListener("click", () => {
      original ||= { hypothesis: known.base, references: known.references, scores: new Map([...known.rows].map(([metric, row]) => [metric, row.score])) };
      write(edit.text, edit.references);
    });
    return chip;
  }));
  if (!original) return;
  const back = el("button", { type: "button", class: "chip", text: "↺ back to the first text" });
  back.addEventListener("click", () => { const { hypothesis, references } = original; original = null; write(hypothesis, references); });
  field("chips").prepend(back);
}

function write(text, references) {
  field("hypothesis").value = text;
  field("references").value = references.join("\n");
  refresh();
}

// --- asking ---

function take(line) {
  if (line.metrics) known.metrics = line.metrics;
  else if (line.edits) { known.edits = line.edits; showChips(); }
  else if (line.after) known.after.set(line.metric, line.after);
  else known.rows.set(line.metric, line);
  showScores();
  if (known.edits.length || line.edits) showChanges();
  showVerdict();
}

// The address holds the text, so that it can be sent to others; the part after # never leaves the browser.
function keepAddress(body) {
  const parameters = new URLSearchParams({ text: body.hypothesis, task: body.task });
  for (const reference of body.references) parameters.append("reference", reference);
  if (body.source) parameters.set("source", body.source);
  history.replaceState(null, "", `#${parameters}`);
  field("permalink").href = `/#${parameters}`;
}

async function* lines(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    rest += value || "";
    const parts = rest.split("\n");
    rest = parts.pop();
    yield* parts.filter(Boolean).map((part) => JSON.parse(part));
    if (done) return;
  }
}

async function refresh() {
  asked?.abort();
  const body = typed(), mine = asked = new AbortController();
  keepAddress(body);
  field("message").textContent = "";
  known = { metrics: body.metrics, rows: new Map(), edits: [], after: new Map(), base: body.hypothesis, references: body.references };
  done = false;
  showScores();
  if (!body.metrics.length) { field("changes").replaceChildren(); field("verdict").textContent = "Choose at least one metric."; return; }
  if (!body.hypothesis.trim()) { field("scores").replaceChildren(); field("changes").replaceChildren(); field("chips").replaceChildren(); field("verdict").textContent = "Type a text, or choose an example."; return; }
  field("changes").replaceChildren(el("p", { class: "busy" }, el("span", { class: "spinner" }), " Looking for edits that apply …"));
  try {
    const answer = await fetch("/api/stream", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal: mine.signal });
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || "the server refused");
    for await (const line of lines(answer.body)) { if (mine !== asked) return; take(line); }
    done = true;
    if (known.edits.length) showChanges();
  } catch (error) {
    if (error.name !== "AbortError" && mine === asked) field("message").textContent = error.message;
  }
}

function fill({ hypothesis, references, source, task }) {
  original = null;
  field("hypothesis").value = hypothesis;
  field("references").value = references.join("\n");
  field("source").value = source || "";
  if ([...field("task").options].some((option) => option.value === task)) field("task").value = task;
}

let waiting = null;
const soon = () => { clearTimeout(waiting); waiting = setTimeout(refresh, 350); };
field("form").addEventListener("input", (event) => { if (event.target.id !== "example") { if (event.target.name !== "metric") { field("example").value = ""; original = null; } soon(); } });
field("example").addEventListener("change", () => { if (field("example").value) { fill(EXAMPLES[Number(field("example").value)]); refresh(); } });
field("form").addEventListener("submit", (event) => { event.preventDefault(); refresh(); });
const root = document.documentElement;
root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
field("theme").addEventListener("click", () => { root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark"; });
const given = new URLSearchParams(location.hash.slice(1));
if (given.has("text")) fill({ hypothesis: given.get("text"), references: given.getAll("reference"), source: given.get("source"), task: given.get("task") });
else { fill(EXAMPLES[0]); field("example").value = "0"; }
refresh();
