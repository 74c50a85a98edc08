function startTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (theme) => { root.dataset.theme = theme; document.dispatchEvent(new Event("theme")); };
  set(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => set(dark.matches ? "dark" : "light"));
  field("theme").addEventListener("click", () => set(root.dataset.theme === "dark" ? "light" : "dark"));
}

// The address says what is shown: #/metric/NAME, #/finding/ID, #/SECTION?filter, or the id of a section.
async function route() {
  const [path, parameters = ""] = location.hash.slice(1).split("?");
  const [, kind, name = ""] = path.match(/^\/([^/]*)\/?(.*)$/) || [null, path, ""];
  const onMetric = kind === "metric";
  field("metric-page").hidden = !onMetric;
  field("overview").hidden = onMetric;
  if (onMetric) { await metricPage(decodeURIComponent(name)); scrollTo(0, 0); field("main").focus({ preventScroll: true }); return; }
  if (path.startsWith("/") && kind !== "finding") { readAddress(parameters); showTask(wanted.task); tellFilters(); }
  if (kind === "finding") await showFinding(name);
  else if (kind && field(kind)) {
    if (field(kind).tagName === "DETAILS") field(kind).open = true;
    field(kind).scrollIntoView();
  }
}

startFilters();
startTasks();
startTheme();
showTask("");
document.querySelectorAll("table.sortable").forEach(makeSortable);
// Sections keep the filter in the address.
for (const link of document.querySelectorAll(".top nav a"))
  link.addEventListener("click", (event) => { event.preventDefault(); location.hash = address(link.hash.slice(1)); });
unpack("findings").then(async (findings) => {
  f = findings;
  for (const link of document.querySelectorAll("a[data-place]")) link.href = findingLink(Number(link.dataset.place));
  startFindings();
  onFilter(showEach);
  onFilter(showWhom);
  startAudits();
  await startStudy();
  tellFilters();
  await route();
  addEventListener("hashchange", route);
  await showGravest();
  document.documentElement.dataset.ready = "true";
});
