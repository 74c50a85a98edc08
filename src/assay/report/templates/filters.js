// What the reader wants to see; the page listens through `onFilter`.
const run = JSON.parse(document.getElementById("run").textContent);
const listeners = [];
const onFilter = (listener) => listeners.push(listener);
const wanted = { metrics: new Set(run.metrics), audit: "", verdict: "", words: "" };

function startFilters() {
  const form = document.getElementById("filters");
  const boxes = document.getElementById("metric-boxes");
  for (const metric of run.metrics)
    boxes.append(el("label", null, el("input", { type: "checkbox", value: metric, checked: true }), " " + metric));
  const read = () => {
    const ticked = [...boxes.querySelectorAll("input:checked")].map((box) => box.value);
    wanted.metrics = new Set(ticked.length ? ticked : run.metrics);
    wanted.audit = form.querySelector("#audit").value;
    wanted.verdict = form.querySelector("#verdict").value;
    wanted.words = form.querySelector("#words").value.trim().toLowerCase();
    document.getElementById("chosen").textContent = `${wanted.metrics.size} of ${run.metrics.length}`;
    for (const listener of listeners) listener();
  };
  form.addEventListener("input", read);
  form.addEventListener("reset", () => setTimeout(read));
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => {
    const chooser = form.querySelector(".choose");
    if (chooser.open && !chooser.contains(event.target)) chooser.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") form.querySelector(".choose").open = false;
  });
  form.querySelector("#offensive").addEventListener("change", (event) => {
    for (const cover of document.querySelectorAll("details.offensive")) cover.open = event.target.checked;
  });
  onFilter(() => {
    for (const node of document.querySelectorAll("[data-metric]"))
      node.hidden = run.metrics.includes(node.dataset.metric) && !wanted.metrics.has(node.dataset.metric);
    for (const node of document.querySelectorAll("section.audit"))
      node.hidden = Boolean(wanted.audit) && node.dataset.audit !== wanted.audit;
    for (const row of document.querySelectorAll("table.heat tbody tr")) {
      const fits = [...row.querySelectorAll("td:not([hidden])")].some((cell) => cell.classList.contains(slug(wanted.verdict)));
      row.hidden = Boolean(wanted.verdict) && !fits || !row.textContent.toLowerCase().includes(wanted.words);
    }
  });
  read();
}
