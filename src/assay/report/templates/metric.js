// A page about one metric: its profile by task, what it does not notice, whom it is unfair to, what is not settled.
const COLUMNS = [["errors", "sound text against an error"], ["reworded", "a rewording against the error"], ["contrast", "other words against a false near-copy"], ["form", "errors of form"], ["people", "as people decide"]];

function scaleView(value, low, high) {
  const bar = el("span", { class: "scale order", "aria-hidden": "true" });
  for (const [name, place] of [["--value", value], ["--low", low], ["--high", high]]) bar.style.setProperty(name, Math.max(0, place));
  return bar;
}

// Right decisions of 100, by task; the line in the middle of each bar is a coin.
function profileView(metric) {
  const tasks = run.tasks.filter(({ lines }) => lines[metric] && COLUMNS.some(([name]) => lines[metric][name]));
  const columns = COLUMNS.filter(([name]) => tasks.some(({ lines }) => lines[metric][name]));
  if (!tasks.length) return el("p", { class: "meaning", text: "No decision of this metric can be compared here." });
  const cell = (numbers, title) => numbers ? el("td", { "data-label": title }, scaleView(...numbers.map((each) => each ?? numbers[0])), el("strong", { text: String(Math.round(numbers[0])) }),
    numbers[1] === null ? null : el("small", { text: ` [${Math.round(numbers[1])}, ${Math.round(numbers[2])}]` })) : el("td", { "data-label": title }, el("small", { text: "not measured" }));
  return el("div", { class: "scroll" }, el("table", { class: "ranking profile" }, el("caption", { class: "hidden", text: `Right decisions of ${metric} by task` }),
    el("thead", null, el("tr", null, el("th", { scope: "col", text: "right of 100 decisions" }), ...columns.map(([, title]) => el("th", { scope: "col", text: title })))),
    el("tbody", null, ...tasks.map(({ name, lines }) => el("tr", null, el("th", { scope: "row", text: name }), ...columns.map(([name, title]) => cell(lines[metric][name], title)))))));
}

// The gravest finding of a list with its example, under a cover where it may offend.
function exampleCard(i) {
  const parts = evidenceView(i, true), offends = mayOffend(i);
  const example = offends ? el("details", { class: "offensive", open: field("offensive").checked }, el("summary", { text: "Show an example (stereotypes: may offend)" }), ...parts) : el("div", null, ...parts);
  return el("div", { class: "gravest" }, el("div", { class: `card ${slug(named("verdict", i))}` }, el("p", { class: "says" }, el("a", { href: findingLink(i), text: says(i) })),
    el("p", { class: "expected" }, named("expected", i), " ", el("small", { text: `Measured: ${amount(i)}, ${factLine(i)}.` })), example));
}

function failureList(title, listed, nothing, example) {
  const items = (rows) => rows.map((i) => el("li", null, el("a", { href: findingLink(i), text: says(i) }), " ", el("small", { text: `n = ${f.n[i]}${f.ci_low[i] === null ? "" : `, 95% CI ${number(f.ci_low[i])} to ${number(f.ci_high[i])}`}` })));
  const more = el("details", { class: "small" }, el("summary", { text: `${listed.length - 10} more` }), el("ul", { class: "plain" }, ...items(listed.slice(10))));
  return [el("h2", { text: title }), listed.length ? el("ul", { class: "plain" }, ...items(listed.slice(0, 10))) : el("p", { class: "meaning", text: nothing.slice(0, 1).toUpperCase() + nothing.slice(1) }), listed.length > 10 ? more : null,
    example === undefined ? null : exampleCard(example)];
}

// What is not settled, counted as in the one table, and what would settle it.
function openList(metric, open) {
  if (!open.length) return [];
  const line = shownLine(metric), [, tried, unknown] = line.blind || [[], 0, 0], [settled, asked] = line.fairness || [0, 0];
  const counts = [[unknown, tried, "kinds of error"], [asked - settled, asked, "questions of fairness"]].filter(([count]) => count);
  const items = open.slice(0, 8).map((i) => el("li", null, el("a", { href: findingLink(i), text: says(i) }), el("small", { text: ` ${settlingOr(i, "")}` })));
  return [el("h2", { text: `Not settled: ${counts.map(([count, all, what]) => `${count} of ${all} ${what}`).join(", ") || open.length}` }), el("ul", { class: "plain" }, ...items),
    el("p", null, el("a", { href: `#/findings?metric=${encodeURIComponent(metric)}&verdict=inconclusive`, text: "Everything that is not settled, and what would settle it" }))];
}

// What the one table says of a metric in the chosen task; where there is no table, its verdicts.
function answerBoxes(metric) {
  const rows = [...document.querySelectorAll(".task:not([hidden]) tbody tr, .verdicts tbody tr")];
  const cells = [...rows.find((row) => row.dataset.metric === metric).cells].filter(({ dataset }) => dataset.label && !dataset.label.startsWith("texts"));
  const boxes = cells.map((cell) => el("li", { class: cell.className }, el("span", { text: cell.dataset.label }), ...cell.cloneNode(true).childNodes));
  const hasPeople = cells.some(({ dataset }) => dataset.label.startsWith("people") || dataset.label.includes("agree"));
  const source = document.querySelector(".task:not([hidden]) .sources");
  return [el("ul", { class: "answers" }, ...boxes, hasPeople ? null : el("li", null, el("span", { text: "people: the text that people rate higher" }), el("small", { text: "not measured: give your ratings to assay run human" }))), source && source.cloneNode(true)];
}

async function metricPage(metric) {
  const page = field("metric-page");
  if (!run.metrics.includes(metric)) { page.replaceChildren(el("h1", { text: `${metric} is not in this report` }), el("p", null, el("a", { href: "#/", text: "Back to the answer" }))); return; }
  const failed = failuresOf(metric);
  await loadEvidence();
  const unfair = failed.fairness[0] ?? largestEffect(metric);
  page.replaceChildren(...[
    el("p", null, el("a", { href: "#/", text: "← all metrics" })), el("h1", { text: metric }),
    ...answerBoxes(metric),
    el("h2", { text: "How often it decides rightly" }), profileView(metric),
    ...failureList("Errors it does not notice, or prefers", failed.robustness, `${noFailure("robustness", metric)}.`, failed.robustness[0]),
    ...failureList("Whom it is unfair to", failed.fairness, `${noFailure("fairness", metric)}${unfair === undefined ? "" : `; ${effectWords(unfair)}`}.`, unfair),
    ...openList(metric, unsettledOf(metric)),
    ...(failed.agreement.length ? failureList("Where it disagrees with people", failed.agreement, "") : []),
    el("p", null, el("a", { href: `#/findings?metric=${encodeURIComponent(metric)}`, text: `All findings of ${metric}` })),
  ].filter(Boolean));
}
