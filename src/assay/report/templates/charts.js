// Audits: charts and tables, drawn when an audit is opened; Vega is unpacked for the first chart.
const SHAPES = { circle: "●", square: "■", "triangle-up": "▲", diamond: "◆", cross: "✚", "triangle-down": "▼" };  // of the points of a line, by metric
const drawers = new Map();  // figure to a function that draws it again

function chartRows(chart) {
  return chart.rows.filter((row) => !("metric" in row) || wanted.metrics.has(row.metric) || !run.metrics.includes(row.metric));
}

function themed(spec, width) {
  const dark = document.documentElement.dataset.theme === "dark";
  const ink = dark ? "#c9d0d9" : "#3a414a", line = dark ? "#343b45" : "#e1e5ea";
  const text = { labelColor: ink, titleColor: ink };
  return { ...spec, $schema: "https://vega.github.io/schema/vega-lite/v6.json", background: "transparent", width: "container",
    config: { aria: false, axis: { ...text, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: "normal", labelFontSize: 11, labelLimit: Math.max(150, 0.55 * width) },
      axisX: { titleAnchor: "end" }, legend: text, view: { stroke: null }, rule: { color: ink }, font: "system-ui, sans-serif", line: { color: ink } } };
}

// Vega is a script of its own; the policy of the page names its digest.
let vega = null;
const loadVega = () => (vega ||= unpack("vega").then((text) => document.head.append(el("script", { text }))));

async function draw(figure, chart) {
  await loadVega();
  const rows = chartRows(chart), spec = structuredClone(themed(chart.spec, figure.clientWidth));
  spec.data = { values: rows };
  for (const { encoding } of spec.layer || [])
    if (encoding.shape) encoding.shape = { ...encoding.shape, legend: null, scale: { domain: run.metrics, range: Object.keys(SHAPES) } };
  if (spec.height.step) spec.height = spec.height.step * Math.max(1, new Set(rows.map((row) => row.label || row.slice)).size);
  await vegaEmbed(figure.querySelector(".plot > div"), spec, { actions: false, renderer: "svg", ast: true, mode: "vega-lite", logLevel: 0 });
}

// What a chart shows, in words: each mark's name, number and verdict, or how the points lie.
function chartWords(chart, rows) {
  const shown = rows.slice(0, 40), last = new Map();
  if ("label" in (rows[0] || {})) return shown.map((row) => `${row.label} ${number(row.value)}${row.verdict === "not judged" ? "" : ", " + row.verdict}`).join("; ");
  if ("y" in (rows[0] || {})) return `${rows.length} points, ${rows.filter((row) => row.x > row.y).length} below and ${rows.filter((row) => row.x < row.y).length} above the diagonal`;
  for (const row of rows) last.set(row.metric || row.slice, row);
  return [...last].slice(0, 40).map(([name, row]) => `${name} ends at ${number(row.change ?? row.value)}${row.verdict && row.verdict !== "not judged" ? ", " + row.verdict : ""}`).join("; ");
}

const watch = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting && drawers.has(target)) { watch.unobserve(target); drawers.get(target)(); }
}, { rootMargin: "300px" });

function chartView(chart) {
  const rows = chartRows(chart);
  const failing = [...new Set(rows.filter((row) => row.verdict === "fail").map((row) => row.label || row.metric))];
  const figure = el("figure", null, el("figcaption", null, inWords(chart.title).replaceAll("/", " › "),
    failing.length ? el("small", { class: "wrong", text: `fails: ${failing.slice(0, 6).join(", ")}${failing.length > 6 ? ` and ${failing.length - 6} more` : ""}` }) : null),
  el("div", { class: "plot", role: "img", "aria-label": `${chart.title}: ${chartWords(chart, rows)}` }, el("div", { "aria-hidden": "true" })));
  drawers.set(figure, () => draw(figure, chart));
  watch.observe(figure);
  return figure;
}

const hasShapes = (spec) => (spec.layer || []).some(({ encoding }) => encoding.shape);

function legend(charts) {
  const present = new Set(charts.flatMap((chart) => chart.rows.map((row) => row.verdict)));
  return el("div", { class: "legend" }, ...Object.entries(run.colours).filter(([verdict]) => present.has(verdict)).map(([verdict, colour]) => {
    const dot = el("i");
    dot.style.background = colour;
    return el("span", null, dot, verdict);
  }), charts[0].spec.usermeta?.legend ? el("span", { text: charts[0].spec.usermeta.legend }) : null,
  hasShapes(charts[0].spec) ? el("span", { text: run.metrics.map((metric, at) => `${Object.values(SHAPES)[at % 6]} ${metric}`).join("  ") }) : null);
}

function groupView(audit, title, charts) {
  const csv = el("button", { type: "button", class: "csv", text: "CSV" });
  csv.addEventListener("click", () => downloadCsv(`assay-${audit}-${title}.csv`.replaceAll(" ", "-"), ["panel", ...Object.keys(charts[0].rows[0])],
    charts.flatMap((chart) => chartRows(chart).map((row) => [chart.title, ...Object.values(row)]))));
  return el("div", { class: "group" }, el("h3", null, inWords(title) + " ", csv), legend(charts), el("div", { class: `panels${"label" in charts[0].rows[0] ? " wide" : ""}` }, ...charts.map(chartView)));
}

const MARKS = { fail: "\u00a0✗", pass: "\u00a0✓", inconclusive: "\u00a0?", "not covered": "\u00a0–" };  // on the line of their number
function cellView(i, column, starred) {
  if (i === null) return el("td", { class: "none", text: "·" });
  const verdict = named("verdict", i), p = starred ? f.p_value[i] ?? 1 : 1;
  const text = number(f.value[i]) + (p < 0.01 ? "**" : p < 0.05 ? "*" : "");
  return el("td", { class: slug(verdict), "data-sort": f.value[i] },
    el("a", { href: findingLink(i), title: `${column}: ${verdict}, ${factLine(i)}`, text: text + (MARKS[verdict] || "") }));
}

function tableView(table, open) {
  const columns = table.columns.map((name, at) => [name, at]).filter(([name]) => !run.metrics.includes(name) || wanted.metrics.has(name));
  const words = wanted.words.split(/\s+/).filter(Boolean);
  const lines = table.labels.map((label, at) => [label, columns.map(([, column]) => table.cells[at][column])]).filter(([label, cells]) =>
    inTask(label.split("/")[0]) && (!wanted.verdict || cells.some((cell) => cell !== null && named("verdict", cell) === wanted.verdict))
    && words.every((word) => inWords(`${label} ${table.title}`).toLowerCase().includes(inWords(word)) || columns.some(([name]) => name.toLowerCase().includes(word))));
  if (!lines.length) return null;
  const body = el("table", { class: "heat sortable" },
    el("caption", { class: "hidden", text: table.title }),
    el("thead", null, el("tr", null, el("th", { scope: "col", text: "slice" }), ...columns.map(([name]) => el("th", { scope: "col", text: name })))),
    el("tbody", null, ...lines.map(([label, cells]) => el("tr", null, el("th", { scope: "row", text: inWords(label).replaceAll("/", " › ") }),
      ...cells.map((cell, at) => cellView(cell, columns[at][0], table.starred))))));
  makeSortable(body);
  return el("details", { class: "matrix", open }, el("summary", { text: table.title }),
    table.meaning ? el("p", { class: "meaning", text: table.meaning }) : null, el("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": table.title }, body),
    table.left_out ? el("p", { class: "meaning", text: `${table.left_out} more rows are in the list of findings.` }) : null);
}

async function drawAudit(section) {
  const { groups, flat, tables } = (await unpack("drawings"))[section.dataset.audit];
  const fits = (title) => wanted.words.split(/\s+/).every((word) => inWords(title).toLowerCase().includes(inWords(word)));
  const charts = Object.entries(groups).map(([title, listed]) => [title, listed.filter((chart) => fits(`${title} ${chart.title}`)
    && inTask(chart.start) && (!run.metrics.includes(chart.title) || wanted.metrics.has(chart.title)) && (!wanted.verdict || chartRows(chart).some((row) => row.verdict === wanted.verdict)))]);
  const notes = wanted.words || wanted.verdict ? [] : Object.entries(flat).map(([title, listed]) =>
    el("p", { class: "meaning", text: `Not drawn, as all their points lie on one spot: ${inWords(title)} (${listed.join(", ")}).` }));
  section.querySelector(".drawings").replaceChildren(...charts.filter(([, listed]) => listed.length).map(([title, listed]) => groupView(section.dataset.audit, title, listed)),
    ...notes, ...tables.map((table, at) => tableView(table, at === 0 || Boolean(wanted.words))).filter(Boolean));
}

function startAudits() {
  const sections = [...document.querySelectorAll("details.audit")];
  const again = () => {
    drawers.clear();
    for (const section of sections) if (section.open && !section.hidden) drawAudit(section);
  };
  for (const section of sections) section.addEventListener("toggle", () => { if (section.open) drawAudit(section); });
  onFilter(() => {
    const counts = new Map();
    for (const i of shown) counts.set(named("audit", i), (counts.get(named("audit", i)) || 0) + 1);
    for (const section of sections) section.hidden = !counts.has(section.dataset.audit);
    again();
  });
  document.addEventListener("theme", again);
  addEventListener("beforeprint", () => { for (const [figure, drawOne] of drawers) if (figure.isConnected && !figure.querySelector("svg")) drawOne(); });
}
