// Unfair to whom: for every attribute its groups and words, each metric's effect with its interval.
const LOST_WORDS = "of a lost word";
const GROUPED = /^(.+?)\/(?:(group|word)\/)?([^/]+)$/;

// Judged findings of fairness by attribute; what has no groups is a test of its audit.
function fairnessRows() {
  const attributes = new Map();
  for (let i = 0; i < f.value.length; i++) {
    if (named("verdict", i) === "not judged" || run.questions[named("audit", i)] !== "fairness" || !wanted.metrics.has(named("metric", i))) continue;
    const parts = named("slice", i).match(GROUPED);
    const [attribute, label] = parts ? [parts[1], parts[2] === "word" ? `“${parts[3]}”` : parts[3]] : [run.titles[named("audit", i)], named("slice", i)];
    const key = `${attribute}|${named("unit", i)}`;
    if (!attributes.has(key)) attributes.set(key, { attribute, unit: named("unit", i), grouped: Boolean(parts), id: `whom-${attributes.size}`, lines: new Map() });
    const name = parts ? label : `${label} (${inWords(named("statistic", i))})`;
    const lines = attributes.get(key).lines;
    if (!lines.has(name)) lines.set(name, new Map());
    lines.get(name).set(named("metric", i), i);
  }
  return [...attributes.values()];
}

// A value with its interval on a scale that all cells of a table share; 0 is in the middle.
function effectCell(i, largest, label) {
  if (i === undefined) return el("td", { class: "none", text: "·" });
  const at = (value) => 50 + 50 * Math.max(-1, Math.min(1, value / largest));
  const verdict = named("verdict", i), bar = el("span", { class: "scale centred", "aria-hidden": "true" });
  bar.style.setProperty("--value", at(f.value[i]));
  bar.style.setProperty("--low", at(f.ci_low[i] ?? f.value[i]));
  bar.style.setProperty("--high", at(f.ci_high[i] ?? f.value[i]));
  const text = `${label ? inWords(label) + " " : ""}${f.value[i] > 0 ? "+" : ""}${number(f.value[i])}${MARKS[verdict] || ""}`;
  return el("td", { class: slug(verdict), "data-sort": f.value[i] }, bar,
    el("a", { href: findingLink(i), title: `${named("metric", i)}: ${verdict}, ${factLine(i)}`, text }));
}

// The gravest of an attribute's findings for a metric: failures first, then the largest effect; with its group.
function gravestEffect({ lines }, metric) {
  const found = [...lines].filter(([, cells]) => cells.has(metric)).map(([label, cells]) => [label, cells.get(metric)]);
  const size = ([label, i]) => Math.abs(f.value[i]) + (named("verdict", i) === "fail" ? 1e6 : 0) + (label.startsWith("“") ? 0 : 1e3); // a group says more than a word
  return found.sort((a, b) => size(b) - size(a))[0];
}

// One line per attribute: whom each metric treats worst, or best.
function summaryTable(attributes, metrics) {
  const rows = attributes.map((attribute) => [attribute, metrics.map((metric) => gravestEffect(attribute, metric))]);
  const largest = Math.max(0.5, ...rows.flatMap(([, cells]) => cells.filter(Boolean).map(([, i]) => Math.abs(f.value[i]))));
  const table = el("table", { class: "effects sortable" }, el("caption", { class: "hidden", text: "The largest effect of a group or word on each metric's score, by attribute" }),
    el("thead", null, el("tr", null, el("th", { scope: "col", text: "attribute" }), ...metrics.map((metric) => el("th", { scope: "col", text: metric })))),
    el("tbody", null, ...rows.map(([{ attribute, id }, cells]) => el("tr", null, el("th", { scope: "row" }, el("a", { href: `#${id}`, text: inWords(attribute) })),
      ...cells.map((cell) => cell ? effectCell(cell[1], largest, cell[0]) : effectCell()))))) ;
  makeSortable(table);
  return [el("p", { class: "meaning", text: "The group or “word” with the largest effect, in lost words: -0.5 says that texts about it score lower than the same texts about others by half of what the loss of one content word costs. ✗ unfair, ✓ shown to be fair, ? not settled." }),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Largest effects by attribute" }, table)];
}

function attributeTable({ attribute, unit, lines }, metrics) {
  const rows = [...lines].map(([label, cells]) => [label, cells, Math.max(...[...cells.values()].map((i) => Math.abs(f.value[i])))]).sort((a, b) => b[2] - a[2]);
  const ends = rows.flatMap(([, cells]) => [...cells.values()].flatMap((i) => [Math.abs(f.ci_low[i] ?? 0), Math.abs(f.ci_high[i] ?? 0), Math.abs(f.value[i])])).sort((a, b) => a - b);
  const largest = ends[Math.floor(ends.length * 0.97)] || 1;
  const table = el("table", { class: "effects sortable" }, el("caption", { class: "hidden", text: `${attribute}: effect on the score by group and metric` }),
    el("thead", null, el("tr", null, el("th", { scope: "col", text: "group or “word”" }), ...metrics.map((metric) => el("th", { scope: "col", text: metric })))),
    el("tbody", null, ...rows.map(([label, cells]) => el("tr", null, el("th", { scope: "row", text: inWords(label) }), ...metrics.map((metric) => effectCell(cells.get(metric), largest))))));
  makeSortable(table);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${attribute}, by group` }, table, el("p", { class: "meaning", text: `Unit: ${unit}. A minus: texts about the group score lower. The bar is the 95% interval, the line in the middle is 0.` }));
}

function countLine(lines) {
  const verdicts = [...lines.values()].flatMap((cells) => [...cells.values()]).map((i) => named("verdict", i));
  return ["fail", "inconclusive", "pass"].map((verdict) => [verdict, verdicts.filter((known) => known === verdict).length])
    .filter(([, count]) => count).map(([verdict, count]) => el("span", { class: `badge ${verdict}`, text: `${count} ${verdict}` }));
}

function showWhom() {
  const metrics = run.metrics.filter((metric) => wanted.metrics.has(metric)), listed = fairnessRows(), body = field("whom-body");
  const failed = [];
  for (let i = 0; i < f.value.length && named("verdict", i) === "fail"; i++)
    if (run.questions[named("audit", i)] === "fairness" && wanted.metrics.has(named("metric", i))) failed.push(i);
  const told = different(groupsFirst(failed));
  const first = told.filter((i) => told.slice(0, told.indexOf(i)).filter((other) => named("metric", other) === named("metric", i)).length < 3).slice(0, 8);
  const hit = (attribute) => [...attribute.lines.values()].flatMap((cells) => [...cells.values()]).filter((i) => named("verdict", i) === "fail").length;
  listed.sort((a, b) => b.grouped - a.grouped || hit(b) - hit(a));
  const compared = listed.filter(({ grouped, unit }) => grouped && unit === LOST_WORDS);
  body.replaceChildren(
    failed.length ? el("ul", { class: "plain" }, ...first.map((i) => el("li", null, el("a", { href: findingLink(i), text: says(i) }), " ",
      el("small", { text: f.ci_low[i] === null ? "" : `95% CI ${number(f.ci_low[i])} to ${number(f.ci_high[i])}` }))),
    told.length > first.length ? el("li", { text: `and ${told.length - first.length} more, in the tables below` }) : null)
      : el("p", { class: "lead", text: listed.length ? "No check of fairness failed here. Where a check is inconclusive (?), more data may still show that a metric is unfair." : "No audit of fairness was run." }),
    ...(compared.length ? summaryTable(compared, metrics) : []),
    listed.length ? el("h3", { text: "All groups and words" }) : null,
    ...listed.map((attribute) => {
      const view = el("details", { class: "attribute", id: attribute.id }, el("summary", null, el("span", { class: "title", text: inWords(attribute.attribute) }), " ",
        el("span", { class: "counts" }, ...countLine(attribute.lines))));
      view.addEventListener("toggle", () => { if (view.open && !view.querySelector("table")) view.append(attributeTable(attribute, metrics)); });
      return view;
    }));
}

const isWord = (i) => named("slice", i).includes("/word/");
const groupsFirst = (listed) => [...listed.filter((i) => !isWord(i)), ...listed.filter(isWord)];

// The failures of a metric by question, in the chosen task; of errors, those it prefers to a sound text are among those it misses.
function failuresOf(metric) {
  const failed = { robustness: [], fairness: [], agreement: [] };
  for (let i = 0; i < f.value.length && named("verdict", i) === "fail"; i++)
    if (named("metric", i) === metric && inTask(named("slice", i).split("/")[0])) failed[run.questions[named("audit", i)]].push(i);
  failed.fairness = groupsFirst(failed.fairness);
  const [blind] = shownLine(metric).blind || [[]]; // as the table names them, then what else it fails
  failed.robustness = [...new Set([...blind, ...failed.robustness])];
  return failed;
}

// The checks of a metric that are not settled, those nearest to being settled first.
function unsettledOf(metric) {
  const open = [];
  for (let i = 0; i < f.value.length; i++)
    if (named("metric", i) === metric && named("verdict", i) === "inconclusive" && inTask(named("slice", i).split("/")[0])) open.push(i);
  return open.sort((a, b) => (f.settles[a] ?? Infinity) - (f.settles[b] ?? Infinity));
}

// Without a failure: the largest effect that was judged, of a group or a word where there is one.
function largestEffect(metric) {
  let found;
  for (let i = 0; i < f.value.length; i++)
    if (named("metric", i) === metric && run.questions[named("audit", i)] === "fairness" && ["pass", "inconclusive"].includes(named("verdict", i))
      && named("unit", i) === LOST_WORDS && (found === undefined || Math.abs(f.value[i]) > Math.abs(f.value[found]))) found = i;
  return found !== undefined && Math.abs(f.value[found]) > 1e-9 ? found : undefined;
}
const whomWords = (i) => { const [first, ...rest] = inWords(named("slice", i)).split("/"); return rest.length ? `${rest[0] === "word" ? `“${rest.at(-1)}”` : rest.at(-1)} (${first})` : first; };
const effectWords = (i) => `largest effect: ${whomWords(i)} ${f.value[i] > 0 ? "+" : ""}${amount(i)}${f.ci_low[i] === null ? "" : ` (95% CI ${number(f.ci_low[i])} to ${number(f.ci_high[i])})`}, ${named("verdict", i) === "pass" ? "too small to matter" : settlingOr(i, "not settled")}`;
const settlingOr = (i, words) => f.settles[i] === null ? words : settling(i);

// Of findings whose sentences differ in their numbers alone (one test on words and in sentences), the first.
function different(listed) {
  const said = new Set();
  return listed.filter((i) => { const words = says(i).replace(/[\d.]+/g, ""); return !said.has(words) && said.add(words); });
}

// Failures in words, one line per kind of edit, whatever the texts; each leads to its example.
function failureLines(listed, most, nothing, metric) {
  const kinds = new Map();
  for (const i of different(listed)) {
    const kind = named("slice", i).split("/").at(-1);
    kinds.set(kind, [...(kinds.get(kind) || []), i]);
  }
  if (!listed.length) return el("small", { text: nothing });
  const lines = [...kinds.values()].slice(0, most).map(([first, ...others]) => {
    const tasks = [...new Set(others.map((i) => inWords(named("slice", i).split("/")[0])))].filter((task) => task !== inWords(named("slice", first).split("/")[0]));
    return el("li", null, el("a", { href: findingLink(first), text: says(first) }), tasks.length ? el("small", { text: ` Also in ${tasks.join(", ")}.` }) : null);
  });
  return el("ul", null, ...lines, kinds.size > most ? el("li", null, el("small", null, el("a", { href: metricLink(metric), text: "and more, on its page" }))) : null);
}

// The line of a metric in the table of the chosen task.
const shownLine = (metric) => (run.tasks.find(({ task }) => task === shownTask()) || { lines: {} }).lines[metric] || {};

// What stands in place of failures where there is none: how much of what was asked is known.
function noFailure(question, metric) {
  const line = shownLine(metric);
  const [, tried, unknown] = line.blind || [[], 0, 0];
  const [settled, total] = question === "fairness" ? line.fairness || [0, 0] : [tried - unknown, tried];
  if (!total) return "not measured";
  return settled ? `none found; ${settled} of ${total} settled` : "nothing settled";
}

function showEach() {
  const metrics = run.metrics.filter((metric) => wanted.metrics.has(metric)), titles = ["does not notice, or prefers", "is unfair to"];
  field("each-body").replaceChildren(el("div", { class: "scroll" }, el("table", { class: "ranking each" }, el("caption", { class: "hidden", text: "The gravest failures of each metric" }),
    el("thead", null, el("tr", null, el("th", { scope: "col", text: "metric" }), ...titles.map((text) => el("th", { scope: "col", text })))),
    el("tbody", null, ...metrics.map((metric) => {
      const { robustness, fairness } = failuresOf(metric), effect = largestEffect(metric);
      const whom = fairness.length || effect === undefined ? failureLines(fairness, 3, noFailure("fairness", metric), metric)
        : el("small", null, `${noFailure("fairness", metric)}; `, el("a", { href: findingLink(effect), text: effectWords(effect) }));
      return el("tr", null, el("th", { scope: "row" }, el("a", { href: metricLink(metric), text: metric })),
        ...[failureLines(robustness, 4, noFailure("robustness", metric), metric), whom].map((cell, at) => el("td", { "data-label": titles[at] }, cell)));
    })))), el("p", { class: "meaning", text: "Every line leads to its numbers and examples; a metric's name leads to its page." }));
}
