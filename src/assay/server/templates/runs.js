const root = document.documentElement;
root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.getElementById("theme").addEventListener("click", () => { root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark"; });

function changeTable(rows) {
  const names = ["metric", "audit", "slice", "statistic"];
  const head = el("tr", null, ...[...names, "before", "after", "q"].map((name) => el("th", { scope: "col", text: name })));
  const body = rows.map((row) => el("tr", null, ...names.map((name) => el("td", { text: row[name] })),
    ...["before", "after", "q_value"].map((name) => el("td", { text: number(row[name]) }))));
  return el("div", { class: "scroll" }, el("table", null, el("thead", null, head), el("tbody", null, ...body)));
}

const search = document.getElementById("search");
if (search) search.addEventListener("input", () => {
  for (const row of document.querySelectorAll("#runs tbody tr")) row.hidden = !row.textContent.toLowerCase().includes(search.value.trim().toLowerCase());
});

const form = document.getElementById("compare");
if (form) form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const chosen = new URLSearchParams({ before: document.getElementById("before").value, after: document.getElementById("after").value });
  const answer = await fetch(`/api/compare?${chosen}`);
  const found = await answer.json();
  const result = document.getElementById("result");
  if (!answer.ok) { result.replaceChildren(el("p", { class: "wrong", text: found.error })); return; }
  result.replaceChildren(el("h3", { text: `worse: ${found.worse.length}` }), changeTable(found.worse),
    el("h3", { text: `better: ${found.better.length}` }), changeTable(found.better),
    el("p", { class: "meaning", text: `Unchanged within uncertainty: ${found.unchanged}. Only in the first: ${found.only_before}; only in the second: ${found.only_after}. Not compared: ${found.not_compared}.` }),
    ...found.notes.map((note) => el("p", { class: "meaning", text: note })));
});
