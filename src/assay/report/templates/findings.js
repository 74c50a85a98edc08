// The list of findings: filtered, a page at a time, each with the examples behind it.
const PAGE = 50;
let shown = [], drawnTo = 0, evidence = null, explained = null;

async function loadEvidence() {
  if (evidence) return;
  evidence = await unpack("cases");
  explained = new Map();
  for (const one of evidence.explanations) {
    const key = JSON.stringify([one.audit, one.case, one.metric]);
    explained.set(key, [...(explained.get(key) || []), one]);
  }
}

// Which findings fit the filter. Words are looked up in the few distinct names, not in every row.
function matching() {
  const columns = ["metric", "audit", "slice", "statistic", "versus"];
  const words = wanted.words.split(/\s+/).filter(Boolean).map((word) =>
    columns.map((column) => f[column].names.map((name) => (name || "").toLowerCase().replaceAll("_", " ").includes(word.replaceAll("_", " ")))));
  const metric = f.metric.names.map((name) => !run.metrics.includes(name) || wanted.metrics.has(name));
  const audit = f.audit.names.map((name) => !wanted.audit || name === wanted.audit);
  const verdict = f.verdict.names.map((name) => !wanted.verdict || name === wanted.verdict);
  const slice = f.slice.names.map((name) => inTask(name.split("/")[0]));
  const rows = [];
  for (let i = 0; i < f.value.length; i++)
    if (slice[f.slice.at[i]] && metric[f.metric.at[i]] && audit[f.audit.at[i]] && verdict[f.verdict.at[i]]
      && words.every((tables) => tables.some((table, c) => table[f[columns[c]].at[i]]))) rows.push(i);
  return rows;
}

function sorted(rows) {
  const by = wanted.sort.replace("-", "");
  if (!by) return rows;
  const key = by === "value" ? (i) => -f.value[i] : (i) => named(by, i);
  const order = (a, b) => { const x = key(a), y = key(b); return x < y ? -1 : x > y ? 1 : a - b; };
  const copy = [...rows].sort(order);
  return wanted.sort.startsWith("-") ? copy.reverse() : copy;
}

// What would settle an unknown: so many items, and the time that scoring a pair of texts for each takes.
function settling(i) {
  const speed = run.speeds[named("metric", i)], seconds = speed ? 2 * f.settles[i] / speed : 0;
  const time = !speed ? "" : seconds < 1 ? ", in less than a second" : seconds < 120 ? `, in about ${Math.round(seconds)} s` : `, in about ${Math.round(seconds / 60)} minutes`;
  return `about ${number(f.settles[i])} items would settle it${time}`;
}

function factLine(i) {
  const facts = [`n = ${f.n[i]}`];
  if (f.ci_low[i] !== null) facts.push(`95% CI ${number(f.ci_low[i])} to ${number(f.ci_high[i])}`);
  if (f.p_value[i] !== null) facts.push(probability("p", f.p_value[i]));
  if (f.q_value[i] !== null) facts.push(probability("q", f.q_value[i]));
  if (f.settles[i] !== null) facts.push(settling(i));
  if (named("versus", i)) facts.push(`compared with ${named("versus", i)}`);
  return facts.join(", ");
}
const amount = (i) => { const unit = named("unit", i); return number(f.value[i]) + (unit && !unit.startsWith("%") ? " " : "") + unit; };
const inWords = (name) => name.replaceAll("_", " ").replaceAll("-", " ");
const place = (i) => inWords(named("slice", i)).replaceAll("/", " › ");

// The examples of fairness are stereotypes: they stay covered until a reader asks for them.
const mayOffend = (i) => run.questions[named("audit", i)] === "fairness";

// A finding in one line: the sentence of a failed one, else its number and where it was measured.
const says = (i) => f.sentences[i] || `${named("metric", i)}, ${place(i)}: ${inWords(named("statistic", i))} ${amount(i)}`;

// Roles may end in the seed that made the text, which says nothing to a reader.
const ROLES = { gold: "clean text", perturbed: "changed text", reworded: "sound rewording", far: "right, in other words", wrong: "false, in nearly the same words" };
function roleName(role) {
  const name = role.replace(/\/\d+$/, "").replaceAll("_", " ");
  return ROLES[name] || (/^[\d.]+$/.test(name) ? `changed text, level ${name}` : name.includes("/") ? `changed text (${name.replaceAll("/", ", ")})` : name);
}

// The references and the source that a text was scored with; a role has them where they are not those of the case.
function scoredWith(one, title, brief) {
  const references = one.references || [], most = brief ? 1 : references.length;
  const parts = references.slice(0, most).flatMap((text) => [el("p", { class: "role", text: title }), el("p", { text: evidence.texts[text] })]);
  const more = (one.more || 0) + references.slice(most).length;
  if (more) parts.push(el("p", { class: "role", text: `and ${more} more reference${more > 1 ? "s" : ""}` }));
  if ("source" in one) parts.push(el("details", { class: "small" }, el("summary", { text: "source" }), el("p", { text: evidence.texts[one.source] })));
  return parts;
}

function caseView(placed, i, brief) {
  const one = evidence.cases[placed], metric = named("metric", i), own = run.metrics.indexOf(metric);
  const view = el("div", { class: "case" });
  view.append(...scoredWith(one, "reference", brief));
  let base = null;
  const compared = (evidence.brief[i] || []).filter((role) => role in one.roles);
  const shown = brief && compared.length ? compared : Object.keys(one.roles);
  for (const [role, text] of shown.map((role) => [role, one.roles[role]])) {
    const scores = text.scores || [];
    const label = el("p", { class: "role", text: roleName(role) + " " });
    if (typeof scores[own] === "number") label.append(el("span", { class: "score", text: `${metric} ${number(scores[own])}` }));
    const others = run.metrics.map((name, at) => [name, scores[at]])
      .filter(([name, value]) => name !== metric && typeof value === "number" && wanted.metrics.has(name)).slice(0, 6);
    if (others.length && !brief) label.append(" · " + others.map(([name, value]) => `${name} ${number(value)}`).join(", "));
    view.append(label, markedText(base, evidence.texts[text.text]), ...scoredWith(text, "scored with reference", brief));
    if (base === null) base = evidence.texts[text.text];
  }
  if (!brief) for (const reason of explained.get(JSON.stringify([named("audit", i), one.id, metric])) || [])
    if (reason.role in one.roles) view.append(el("p", { class: "role", text: roleName(reason.role) }), explanationView(reason));
  if (!brief) view.append(el("p", { class: "role", text: `Item ${one.id}` }));
  return view;
}

// The examples of a finding; the shortest one alone where there is little room.
function evidenceView(i, brief) {
  let listed = evidence.of[i] || [];
  const length = (one) => typeof one === "number" ? Object.values(evidence.cases[one].roles).reduce((sum, role) => sum + evidence.texts[role.text].length, 0) : 0;
  if (brief) listed = [...listed].sort((a, b) => length(a) - length(b)).slice(0, 1);
  const parts = listed.map((one) => typeof one === "number" ? caseView(one, i, brief) : el("div", { class: "case" }, el("p", { text: one })));
  return parts.length ? parts : [el("p", { class: "meaning", text: "No single example stands for this number." })];
}

async function fillFinding(view, i) {
  if (view.querySelector(".body")) return;
  const body = el("div", { class: "body" });
  view.append(body);
  await loadEvidence();
  const failed = named("verdict", i) === "fail";
  if (f.sentences[i]) body.append(el("p", { class: "says", text: f.sentences[i] }));
  if (failed) body.append(el("p", { class: "expected", text: named("expected", i) }));
  body.append(el("p", { class: "facts", text: factLine(i) }));
  const unit = named("unit", i) ? ` Unit: ${named("unit", i)}.` : "";
  if (named("meaning", i) || unit) body.append(el("p", { class: "meaning", text: named("meaning", i) + unit }));
  if (evidence.of[i] && mayOffend(i))
    body.append(el("details", { class: "offensive", open: field("offensive").checked },
      el("summary", { text: "Show the examples (stereotypes: may offend)" }), ...evidenceView(i)));
  else body.append(...evidenceView(i));
  body.append(el("p", { class: "facts" }, el("a", { href: findingLink(i), text: "link to this finding" }), " · ",
    el("a", { href: metricLink(named("metric", i)), text: `all about ${named("metric", i)}` })));
}

function findingView(i) {
  const verdict = named("verdict", i);
  const view = el("details", { class: "finding", "data-place": i });
  view.append(el("summary", null, el("span", { class: "badge " + slug(verdict), text: verdict }), el("strong", { text: named("metric", i) }),
    el("span", { class: "where", text: `${named("audit", i)} › ${place(i)}` }),
    el("span", { class: "num", text: `${inWords(named("statistic", i))} ${amount(i)}${verdict === "inconclusive" && f.settles[i] !== null ? `; ${settling(i)}` : ""}` })));
  view.addEventListener("toggle", () => { if (view.open) fillFinding(view, i); });
  return view;
}

function showMore() {
  field("list").append(...shown.slice(drawnTo, drawnTo + PAGE).map(findingView));
  drawnTo = Math.min(shown.length, drawnTo + PAGE);
  field("more").hidden = drawnTo >= shown.length;
  field("more").textContent = `Show ${Math.min(PAGE, shown.length - drawnTo)} more`;
  field("count").textContent = `${shown.length.toLocaleString("en")} of ${f.value.length.toLocaleString("en")} findings`;
}

// One finding by its link: alone at the head of the list, open.
async function showFinding(id) {
  for (let i = 0; i < f.value.length; i++) {
    if (findingId(i) !== id) continue;
    document.querySelector(".finding.linked")?.remove();
    const view = findingView(i);
    view.classList.add("linked");
    view.open = true;
    field("list").before(view);
    await fillFinding(view, i);
    view.scrollIntoView({ block: "start" });
    view.querySelector("summary").focus({ preventScroll: true });
    return;
  }
  field("count").textContent = "The finding of this link is not in this report.";
}

function listFindings() {
  shown = sorted(matching());
  drawnTo = 0;
  document.querySelector(".finding.linked")?.remove();
  field("list").replaceChildren();
  showMore();
}

async function startFindings() {
  onFilter(listFindings);
  field("more").addEventListener("click", showMore);
  field("findings-csv").addEventListener("click", () => {
    const columns = ["metric", "audit", "slice", "statistic", "versus", "unit"], numbers = ["value", "n", "ci_low", "ci_high", "p_value", "q_value", "settles"];
    downloadCsv("assay-findings.csv", [...columns, ...numbers, "verdict"],
      shown.map((i) => [...columns.map((name) => named(name, i)), ...numbers.map((name) => f[name][i]), named("verdict", i)]));
  });
}

async function showGravest() {
  await loadEvidence();
  for (const card of document.querySelectorAll(".gravest li")) {
    const i = Number(card.dataset.finding);
    card.querySelector(".body").append(...evidenceView(i, true));
    card.querySelector(".to-finding").href = findingLink(i);
  }
}
