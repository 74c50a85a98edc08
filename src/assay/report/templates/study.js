// The figures of a study, drawn when they come into view; filters choose their metrics too.
async function startStudy() {
  const places = [...document.querySelectorAll(".drawn")];
  if (!places.length) return;
  const drawings = await unpack("study");
  const show = () => { for (const place of places) place.replaceChildren(...drawings[place.dataset.part].map(chartView)); };
  onFilter(show);
  document.addEventListener("theme", show);
}
