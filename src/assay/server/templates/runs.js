const root = document.documentElement;
root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.getElementById("theme").addEventListener("click", () => { root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark"; });

const search = document.getElementById("search");
if (search) search.addEventListener("input", () => {
  for (const row of document.querySelectorAll("#runs tbody tr")) row.hidden = !row.textContent.toLowerCase().includes(search.value.trim().toLowerCase());
});
