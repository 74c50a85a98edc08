// A page about one metric: its profile, what it misses, what moves it, whom it is unfair to.
function scaleView(value, low, high, most = value) {
  const bar = el("span", { class: "scale", "aria-hidden": "true" });
  for (const [name, number] of [["--value", value], ["--low", low], ["--high", high], ["--most", most]]) bar.style.setProperty(name, 100 * Math.max(0, number));
  return bar;
}

function profileRow(title, [good, bad, total, low, high], words) {
  const share = good / total, unknown = total - good - bad;
  return el("tr", null, el("th", { scope: "row", text: title }), el("td", { class: "wide" }, scaleView(share, low, high, 1 - bad / total)),
    el("td", { class: "num" }, el("strong", { text: 2 * unknown > total ? "unknown" : `${Math.round(100 * share)}%` })),
    el("td", null, el("small", { text: `${good} of ${total} ${words[0]}${bad ? `, ${bad} ${words[1]}` : ""}${unknown ? `, ${unknown} unknown` : ""}` })));
}

function profileView(metric) {
  const rows = [], several = run.tasks.length > 1;
  for (const [question, at, words] of [["notices harmful edits", 0, ["noticed", "missed"]], ["leaves harmless edits alone", 1, ["stay", "move"]]]) {
    const shares = run.tasks.filter(({ lines }) => lines[metric] && lines[metric][at][2]).map(({ task, lines }) => [task, lines[metric][at]]);
    if (shares.length) rows.push(el("tr", null, el("th", { scope: "colgroup", colspan: 4, class: "question", text: question })));
    const few = shares.length > 1 && shares.every(([task, share]) => task === "all tasks" || share[2] < 5); // a share of one or two says nothing
    for (const [task, share] of few ? shares.slice(0, 1) : shares) rows.push(profileRow(several ? inWords(task) : "here", share, words));
  }
  const fairness = new Map();
  for (let i = 0; i < f.value.length; i++)
    if (named("metric", i) === metric && run.questions[named("audit", i)] === "fairness" && named("verdict", i) !== "not judged") {
      const counts = fairness.get(named("audit", i)) || { pass: 0, fail: 0, total: 0 };
      counts[named("verdict", i)] = (counts[named("verdict", i)] || 0) + 1;
      counts.total++;
      fairness.set(named("audit", i), counts);
    }
  if (fairness.size) rows.push(el("tr", null, el("th", { scope: "colgroup", colspan: 4, class: "question", text: "is fair: checks passed, by audit" })));
  for (const [audit, { pass, fail, total }] of fairness) rows.push(profileRow(audit, [pass, fail, total, pass / total, pass / total], ["passed", "failed"]));
  const people = run.agreement[metric];
  if (people) rows.push(el("tr", null, el("th", { scope: "colgroup", colspan: 4, class: "question", text: "agrees with people" })),
    el("tr", null, el("th", { scope: "row", text: people[1] }), el("td", { class: "wide" }, scaleView(people[2], people[3] ?? people[2], people[4] ?? people[2])),
      el("td", { class: "num" }, el("strong", { text: number(people[2]) })), el("td", null, el("small", { text: inWords(people[0]) }))));
  return el("table", { class: "profile" }, el("caption", { class: "hidden", text: `Profile of ${metric}` }), el("tbody", null, ...rows));
}

// The gravest finding of a list with its example, under a cover where it may offend.
function exampleCard(i) {
  const parts = evidenceView(i, true), offends = run.offensive.includes(named("audit", i));
  const example = offends ? el("details", { class: "offensive", open: field("offensive").checked }, el("summary", { text: "Show an example (stereotypes: may offend)" }), ...parts) : el("div", null, ...parts);
  return el("div", { class: "gravest" }, el("div", { class: `card ${slug(named("verdict", i))}` }, el("p", { class: "says" }, el("a", { href: findingLink(i), text: says(i) })),
    el("p", { class: "expected" }, named("expected", i), " ", el("small", { text: `Measured: ${amount(i)}, ${factLine(i)}.` })), example));
}

function failureList(title, listed, nothing, example) {
  const items = (rows) => rows.map((i) => el("li", null, el("a", { href: findingLink(i), text: says(i) }), " ", el("small", { text: `n = ${f.n[i]}${f.ci_low[i] === null ? "" : `, 95% CI ${number(f.ci_low[i])} to ${number(f.ci_high[i])}`}` })));
  const more = el("details", { class: "small" }, el("summary", { text: `${listed.length - 10} more` }), el("ul", { class: "plain" }, ...items(listed.slice(10))));
  return [el("h2", { text: title }), listed.length ? el("ul", { class: "plain" }, ...items(listed.slice(0, 10))) : el("p", { class: "meaning", text: nothing }), listed.length > 10 ? more : null,
    example === undefined ? null : exampleCard(example)];
}

async function metricPage(metric) {
  const page = field("metric-page");
  if (!run.metrics.includes(metric)) { page.replaceChildren(el("h1", { text: `${metric} is not in this report` }), el("p", null, el("a", { href: "#/", text: "Back to the answer" }))); return; }
  const failed = failuresOf(metric);
  const verdicts = [...document.querySelectorAll(".verdicts tbody tr")].find((row) => row.dataset.metric === metric);
  await loadEvidence();
  const unfair = failed.fairness[0] ?? largestEffect(metric);
  page.replaceChildren(...[
    el("p", null, el("a", { href: "#/", text: "← all metrics" })), el("h1", { text: metric }),
    el("ul", { class: "answers" }, ...[...verdicts.cells].slice(1).map((cell) => el("li", { class: cell.className }, el("span", { text: cell.dataset.label }), ...[...cell.cloneNode(true).childNodes]))),
    el("h2", { text: "Profile" }), profileView(metric), el("p", { class: "meaning", text: "Dot: the share that was shown to come out well; dark bar: its 95% interval; pale bar: what is unknown." }),
    ...failureList("Errors it misses or rewards", failed.missed, "No error that it misses was found.", failed.missed[0]),
    ...failureList("Harmless edits it minds", failed.moved, "No harmless edit that it minds was found.", failed.moved[0]),
    ...failureList("Whom it is unfair to", failed.fairness, `No check of fairness failed${unfair === undefined ? "" : `; ${effectWords(unfair)}`}. Where a check is inconclusive, it may still be unfair.`, unfair),
    ...(failed.agreement.length ? failureList("Where it disagrees with people", failed.agreement, "") : []),
    el("p", null, el("a", { href: `#/findings?metric=${encodeURIComponent(metric)}`, text: `All findings of ${metric}` })),
  ].filter(Boolean));
}
