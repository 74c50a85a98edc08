// Vega charts, drawn when they come into view, drawn again when the filter or the theme changes.
const charts = JSON.parse(document.getElementById("charts").textContent);
const palette = ["#4269d0", "#e0762b", "#2f9e6e", "#c2408f", "#8a6bd1", "#2aa5b8", "#a3763f", "#d64550", "#6b8e23", "#7f7f7f",
  "#1f4e9c", "#f2a65a", "#57c785", "#e58bc2", "#b9a3ea", "#7cd3df", "#d1b07a", "#f08a92", "#a9c46c", "#b8b8b8"];
const colourOf = (metric) => palette[Math.max(0, run.metrics.indexOf(metric)) % palette.length];

function chartRows(chart) {
  const rows = chart.cells.length ? chart.cells[0].map((_, i) => Object.fromEntries(chart.columns.map((name, c) => [name, chart.cells[c][i]]))) : [];
  return rows.filter((row) => !("metric" in row) || wanted.metrics.has(row.metric) || !run.metrics.includes(row.metric));
}

function themed(spec) {
  const dark = document.documentElement.dataset.theme === "dark";
  const ink = dark ? "#c9d0d9" : "#3a414a", line = dark ? "#343b45" : "#e1e5ea";
  const text = { labelColor: ink, titleColor: ink };
  return { ...spec, $schema: "https://vega.github.io/schema/vega-lite/v6.json", background: "transparent", width: "container",
    config: { axis: { ...text, gridColor: line, domainColor: line, tickColor: line, titleFontWeight: "normal", labelFontSize: 11, labelLimit: 130 },
      axisX: { titleAnchor: "end" }, legend: text, view: { stroke: null }, rule: { color: ink }, font: "system-ui, sans-serif",
      line: { color: ink } } };
}

function draw(figure) {
  const chart = charts[Number(figure.dataset.chart)];
  const rows = chartRows(chart);
  const spec = structuredClone(themed(chart.spec));
  spec.data = { values: rows };
  if (spec.height.step) spec.height = spec.height.step * Math.max(1, rows.length);  // one bar per row
  if (chart.colouredBy === "metric") spec.encoding.color.scale = { domain: run.metrics, range: run.metrics.map(colourOf) };
  figure.drawn = true;
  return vegaEmbed(figure.querySelector(".plot"), spec, { actions: false, renderer: "svg", ast: true, mode: "vega-lite", logLevel: 0 });
}

function startCharts() {
  if (!charts.length) return;
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting && !entry.target.drawn) draw(entry.target);
  }, { rootMargin: "300px" });
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  figures.forEach((figure) => watch.observe(figure));
  const again = () => {
    for (const figure of figures) {
      const title = charts[Number(figure.dataset.chart)].title;
      figure.hidden = run.metrics.includes(title) && !wanted.metrics.has(title)
        || Boolean(wanted.words) && !(title + " " + charts[Number(figure.dataset.chart)].group).toLowerCase().includes(wanted.words);
      figure.drawn = false;
      watch.unobserve(figure);
      watch.observe(figure);
    }
    for (const legend of document.querySelectorAll(".legend")) fillLegend(legend);
  };
  onFilter(again);
  document.addEventListener("theme", again);
  addEventListener("beforeprint", () => figures.filter((figure) => !figure.drawn && !figure.hidden).forEach(draw));
  for (const button of document.querySelectorAll("button[data-charts]"))
    button.addEventListener("click", () => {
      const listed = button.dataset.charts.split(",").map((place) => charts[Number(place)]);
      const rows = listed.flatMap((chart) => chartRows(chart).map((row) => [chart.title, ...chart.columns.map((name) => row[name])]));
      downloadCsv(`assay-${listed[0].audit}-${listed[0].group}.csv`.replaceAll(" ", "-"), ["panel", ...listed[0].columns], rows);
    });
}

function fillLegend(legend) {
  const chart = charts[Number(legend.dataset.legend)];
  const listed = charts.filter((other) => other.audit === chart.audit && other.group === chart.group);
  const entries = { metric: run.metrics.filter((metric) => wanted.metrics.has(metric)).map((metric) => [metric, colourOf(metric)]),
    verdict: Object.entries(run.colours).filter(([verdict]) => listed.some((other) => (other.cells[other.columns.indexOf("verdict")] || []).includes(verdict))) }[chart.colouredBy] || [];
  legend.replaceChildren(...entries.map(([name, colour]) => {
    const dot = el("i");
    dot.style.background = colour;
    return el("span", null, dot, name);
  }));
  if (chart.colouredBy === "metric" && chart.columns.includes("verdict")) legend.append(el("span", { text: "(thick: fails)" }));
}
