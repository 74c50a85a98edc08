// The list of findings: filtered, a page at a time, each with the examples behind it.
const PAGE = 50;
const f = run.findings;
const named = (column, i) => f[column].names[f[column].at[i]];
const explained = new Map();
for (const one of run.explanations) {
  const key = JSON.stringify([one.audit, one.case, one.metric]);
  explained.set(key, [...(explained.get(key) || []), one]);
}
let shown = [], drawnTo = 0;

function matching() {
  const rows = [];
  for (let i = 0; i < f.value.length; i++) {
    const metric = named("metric", i);
    if (run.metrics.includes(metric) && !wanted.metrics.has(metric)) continue;
    if (wanted.audit && named("audit", i) !== wanted.audit) continue;
    if (wanted.verdict && named("verdict", i) !== wanted.verdict) continue;
    if (wanted.words) {
      const text = [metric, named("audit", i), named("slice", i), named("statistic", i), named("versus", i) || ""].join(" ").toLowerCase();
      if (!wanted.words.split(/\s+/).every((word) => text.includes(word))) continue;
    }
    rows.push(i);
  }
  return rows;
}

function factLine(i) {
  const facts = [`n = ${f.n[i]}`];
  if (f.ci_low[i] !== null) facts.push(`95% CI ${number(f.ci_low[i])} to ${number(f.ci_high[i])}`);
  if (f.p_value[i] !== null) facts.push(`p = ${number(f.p_value[i])}`);
  if (f.q_value[i] !== null) facts.push(`q = ${number(f.q_value[i])}`);
  if (f.mde[i] !== null) facts.push(`smallest effect that this many items would show: ${number(f.mde[i])}`);
  if (named("versus", i)) facts.push(`compared with ${named("versus", i)}`);
  return facts.join(", ");
}

// Roles may end in the seed that made the text, which says nothing to a reader.
const ROLES = { gold: "clean text", worthless: "worthless text", perturbed: "changed text" };
function roleName(role) {
  const name = role.replace(/\/\d+$/, "").replaceAll("_", " ");
  return ROLES[name] || (/^[\d.]+$/.test(name) ? `level ${name}` : name);
}

// The references and the source that a text was scored with; a role has them where they are not those of the case.
function scoredWith(one, title) {
  const parts = (one.references || []).flatMap((reference) => [el("p", { class: "role", text: title }), el("p", { text: reference })]);
  if (one.more) parts.push(el("p", { class: "role", text: `and ${one.more} more references` }));
  if (one.source) parts.push(el("details", { class: "small" }, el("summary", { text: "source" }), el("p", { text: one.source })));
  return parts;
}

function caseView(place, i) {
  const one = run.cases[place];
  const metric = named("metric", i);
  const view = el("div", { class: "case" });
  const about = Object.entries(one.meta).slice(0, 6).map(([key, value]) => `${key}: ${value}`).join(" · ");
  view.append(el("p", { class: "role", text: one.id + (about ? " · " + about : "") }));
  let base = null;
  for (const [role, text] of Object.entries(one.roles)) {
    const score = text.scores[run.metrics.indexOf(metric)];
    const label = el("p", { class: "role", text: roleName(role) + " " });
    if (score !== undefined) label.append(el("span", { class: "score", text: `${metric} ${number(score)}` }));
    const others = Object.entries(text.scores).map(([place, value]) => [run.metrics[place], value])
      .filter(([name]) => name !== metric && wanted.metrics.has(name)).slice(0, 6);
    if (others.length) label.append(" · " + others.map(([name, value]) => `${name} ${number(value)}`).join(", "));
    view.append(label, markedText(base, text.text), ...scoredWith(text, "scored with reference"));
    if (base === null) base = text.text;
  }
  view.append(...scoredWith(one, "reference"));
  const audit = named("audit", i);
  for (const reason of explained.get(JSON.stringify([audit, one.id, metric])) || [])
    if (reason.role in one.roles) view.append(el("p", { class: "role", text: roleName(reason.role) }), explanationView(reason));
  return view;
}

function evidenceView(i, most) {
  const parts = f.evidence[i].slice(0, most).map((one) => typeof one === "number" ? caseView(one, i)
    : el("div", { class: "case" }, el("p", { text: one })));
  return parts.length ? parts : [el("p", { class: "meaning", text: "No single example stands for this number." })];
}

function findingView(i) {
  const verdict = named("verdict", i);
  const statistic = named("statistic", i);
  const view = el("details", { class: "finding", "data-place": i });
  view.append(el("summary", null, el("span", { class: "badge " + slug(verdict), text: verdict }), el("strong", { text: named("metric", i) }),
    el("span", { class: "where", text: `${named("audit", i)} · ${named("slice", i)}` }),
    el("span", { class: "num", text: `${statistic.replaceAll("_", " ")} ${number(f.value[i])}` })));
  view.addEventListener("toggle", () => {
    if (!view.open || view.querySelector(".body")) return;
    const body = el("div", { class: "body" });
    if (run.sentences[i]) body.append(el("p", { class: "says", text: run.sentences[i] }));
    body.append(el("p", { class: "facts", text: factLine(i) }));
    const unit = named("unit", i) ? ` Unit: ${named("unit", i)}.` : "";
    if (named("meaning", i) || unit) body.append(el("p", { class: "meaning", text: named("meaning", i) + unit }));
    if (f.evidence[i].length && run.offensive.includes(named("audit", i)))
      body.append(el("details", { class: "offensive", open: document.getElementById("offensive").checked },
        el("summary", { text: "Show the examples (stereotypes: may offend)" }), ...evidenceView(i, 3)));
    else body.append(...evidenceView(i, 3));
    view.append(body);
  });
  return view;
}

function showMore() {
  const list = document.getElementById("list");
  list.append(...shown.slice(drawnTo, drawnTo + PAGE).map(findingView));
  drawnTo = Math.min(shown.length, drawnTo + PAGE);
  const more = document.getElementById("more");
  more.hidden = drawnTo >= shown.length;
  more.textContent = `Show ${Math.min(PAGE, shown.length - drawnTo)} more`;
  document.getElementById("count").textContent = `${shown.length.toLocaleString("en")} of ${f.value.length.toLocaleString("en")} findings, failures first`;
}

function startFindings() {
  onFilter(() => {
    shown = matching();
    drawnTo = 0;
    document.getElementById("list").replaceChildren();
    showMore();
  });
  document.getElementById("more").addEventListener("click", showMore);
  document.getElementById("findings-csv").addEventListener("click", () => {
    const columns = ["metric", "audit", "slice", "statistic", "versus", "unit"], numbers = ["value", "n", "ci_low", "ci_high", "p_value", "q_value", "mde"];
    downloadCsv("assay-findings.csv", [...columns, ...numbers, "verdict"],
      shown.map((i) => [...columns.map((name) => named(name, i)), ...numbers.map((name) => f[name][i]), named("verdict", i)]));
  });
  for (const example of document.querySelectorAll("details.example"))
    example.querySelector(".body").append(...evidenceView(Number(example.dataset.finding), 1));
}
