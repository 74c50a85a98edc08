// What the reader wants to see: read from the form and the address, kept in the address; listeners draw it.
const listeners = [];
const onFilter = (listener) => listeners.push(listener);
const wanted = { metrics: new Set(run.metrics), audit: "", verdict: "", words: "", sort: "", task: "" };
const field = (id) => document.getElementById(id);

function tellFilters() {
  field("chosen").textContent = `${wanted.metrics.size} of ${run.metrics.length}`;
  for (const node of document.querySelectorAll("[data-metric]"))
    node.hidden = run.metrics.includes(node.dataset.metric) && !wanted.metrics.has(node.dataset.metric);
  for (const listener of listeners) listener();
}

function readForm() {
  const ticked = [...field("metric-boxes").querySelectorAll("input:checked")].map((box) => box.value);
  wanted.metrics = new Set(ticked.length ? ticked : run.metrics);
  for (const name of ["audit", "verdict", "sort"]) wanted[name] = field(name).value;
  wanted.words = field("words").value.trim().toLowerCase();
}

// The address without what is at its default: "#/?verdict=fail&words=negation".
function address(section) {
  const parameters = new URLSearchParams();
  for (const name of ["task", "audit", "verdict", "words", "sort"]) if (wanted[name]) parameters.set(name, wanted[name]);
  if (wanted.metrics.size < run.metrics.length) for (const metric of wanted.metrics) parameters.append("metric", metric);
  const text = parameters.toString();
  return `#/${section}${text ? "?" + text : ""}`;
}
const keepAddress = () => history.replaceState(null, "", address(""));

function readAddress(text) {
  const parameters = new URLSearchParams(text);
  for (const name of ["audit", "verdict", "words", "sort"]) field(name).value = parameters.get(name) || "";
  wanted.task = parameters.get("task") || "";
  const metrics = parameters.getAll("metric");
  for (const box of field("metric-boxes").querySelectorAll("input")) box.checked = !metrics.length || metrics.includes(box.value);
  readForm();
}

function startFilters() {
  const form = field("filters"), chooser = form.querySelector(".choose");
  for (const metric of run.metrics)
    field("metric-boxes").append(el("label", null, el("input", { type: "checkbox", value: metric, checked: true }), " " + metric));
  let waiting = null;
  const changed = () => { readForm(); tellFilters(); keepAddress(); };
  form.addEventListener("input", (event) => {
    clearTimeout(waiting);
    if (event.target.id === "words") waiting = setTimeout(changed, 120); else if (event.target.id !== "offensive") changed();
  });
  field("sort").addEventListener("input", changed);
  form.addEventListener("reset", () => setTimeout(() => { field("sort").value = ""; changed(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => { if (chooser.open && !chooser.contains(event.target)) chooser.open = false; });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") chooser.open = false; });
  field("offensive").addEventListener("change", (event) => {
    for (const cover of document.querySelectorAll("details.offensive")) cover.open = event.target.checked;
  });
}

// Tabs of tasks: the chosen one is in the address too, and everything below is about it.
const taskNames = run.tasks.map(({ task }) => task);
const shownTask = () => taskNames.includes(wanted.task) ? wanted.task : taskNames[0] || "";
const EVERYTHING = "all tasks";

// Whether what begins so is about the chosen task: fairness is about none, and measured for all.
const inTask = (start) => !taskNames.length || shownTask() === EVERYTHING || start === shownTask() || !taskNames.includes(start);

function showTask(task) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const chosen = tabs.find((tab) => tab.dataset.task === task) || tabs[0];
  for (const part of document.querySelectorAll(".of-task")) part.hidden = part.dataset.task !== shownTask();
  const here = !shownTask() || shownTask() === EVERYTHING ? "" : `, in ${inWords(shownTask())}`;
  for (const place of document.querySelectorAll(".here")) place.textContent = here;
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
    field(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
  }
}
function startTasks() {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const choose = (tab) => { wanted.task = tab === tabs[0] ? "" : tab.dataset.task; showTask(wanted.task); tellFilters(); keepAddress(); };
  for (const [place, tab] of tabs.entries()) {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(place + step + tabs.length) % tabs.length];
      next.focus();
      choose(next);
    });
  }
}

// Every table of the class "sortable" sorts by the column whose heading is pressed; again: the other way.
function makeSortable(table) {
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = el("button", { type: "button", class: "sort" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => { const cell = row.cells[column]; return cell.dataset.sort ?? cell.textContent.trim(); };
      const order = (a, b) => { const [x, y] = [key(a), key(b)], difference = Number(x) - Number(y); return Number.isNaN(difference) ? x.localeCompare(y) : difference; };
      const rows = [...table.tBodies[0].rows].sort(order);
      table.tBodies[0].append(...(down ? rows.reverse() : rows));
    });
  }
}
