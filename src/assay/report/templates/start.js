function startTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (theme) => { root.dataset.theme = theme; document.dispatchEvent(new Event("theme")); };
  set(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => set(dark.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => set(root.dataset.theme === "dark" ? "light" : "dark"));
}
startTheme();
startFindings();
startCharts();
startFilters();
