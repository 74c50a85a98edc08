// Unfair to whom: for every attribute its groups and words, each metric's effect with its interval.
const GROUPED = /^(.+?)\/(?:(group|word)\/)?([^/]+)$/;

// Judged findings of fairness by attribute; what has no groups is a test of its audit.
function fairnessRows() {
  const attributes = new Map();
  for (let i = 0; i < f.value.length; i++) {
    if (named("verdict", i) === "not judged" || run.questions[named("audit", i)] !== "fairness" || !wanted.metrics.has(named("metric", i))) continue;
    const parts = named("slice", i).match(GROUPED);
    const [attribute, label] = parts ? [parts[1], parts[2] === "word" ? `“${parts[3]}”` : parts[3]] : [`${named("audit", i)}, as a whole`, named("slice", i)];
    const key = `${attribute}|${named("unit", i)}`;
    if (!attributes.has(key)) attributes.set(key, { attribute, unit: named("unit", i), lines: new Map() });
    const name = parts ? label : `${label} (${inWords(named("statistic", i))})`;
    const lines = attributes.get(key).lines;
    if (!lines.has(name)) lines.set(name, new Map());
    lines.get(name).set(named("metric", i), i);
  }
  return [...attributes.values()];
}

// A value with its interval on a scale that all cells of a table share; 0 is in the middle.
function effectCell(i, largest) {
  if (i === undefined) return el("td", { class: "none", text: "·" });
  const at = (value) => 50 + 50 * Math.max(-1, Math.min(1, value / largest));
  const verdict = named("verdict", i), bar = el("span", { class: "scale centred", "aria-hidden": "true" });
  bar.style.setProperty("--value", at(f.value[i]));
  bar.style.setProperty("--low", at(f.ci_low[i] ?? f.value[i]));
  bar.style.setProperty("--high", at(f.ci_high[i] ?? f.value[i]));
  const text = verdict === "insensitive" ? "insensitive" : number(f.value[i]) + (MARKS[verdict] || "");
  return el("td", { class: slug(verdict), "data-sort": f.value[i] }, verdict === "insensitive" ? null : bar,
    el("a", { href: findingLink(i), title: `${named("metric", i)}: ${verdict}, ${factLine(i)}`, text }));
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
  return ["fail", "inconclusive", "insensitive", "pass"].map((verdict) => [verdict, verdicts.filter((known) => known === verdict).length])
    .filter(([, count]) => count).map(([verdict, count]) => el("span", { class: `badge ${verdict}`, text: `${count} ${verdict}` }));
}

function showWhom() {
  const metrics = run.metrics.filter((metric) => wanted.metrics.has(metric)), listed = fairnessRows(), body = field("whom-body");
  const failed = [];
  for (let i = 0; i < f.value.length && named("verdict", i) === "fail"; i++)
    if (run.questions[named("audit", i)] === "fairness" && wanted.metrics.has(named("metric", i))) failed.push(i);
  const hit = (attribute) => [...attribute.lines.values()].flatMap((cells) => [...cells.values()]).filter((i) => named("verdict", i) === "fail").length;
  listed.sort((a, b) => hit(b) - hit(a));
  body.replaceChildren(
    failed.length ? el("ul", { class: "plain" }, ...failed.slice(0, 8).map((i) => el("li", null, el("a", { href: findingLink(i), text: says(i) }), " ",
      el("small", { text: `${amount(i)}${f.ci_low[i] === null ? "" : `, 95% CI ${number(f.ci_low[i])} to ${number(f.ci_high[i])}`}` }))),
    failed.length > 8 ? el("li", { text: `and ${failed.length - 8} more, in the tables below` }) : null)
      : el("p", { class: "lead", text: listed.length ? "No metric surely treats a group unfairly here. Where a check is inconclusive, more data may still show that it does." : "No audit of fairness was run." }),
    ...listed.map((attribute) => {
      const view = el("details", { class: "attribute" }, el("summary", null, el("span", { class: "title", text: inWords(attribute.attribute) }), " ",
        el("span", { class: "counts" }, ...countLine(attribute.lines))));
      view.addEventListener("toggle", () => { if (view.open && !view.querySelector("table")) view.append(attributeTable(attribute, metrics)); });
      return view;
    }));
}
