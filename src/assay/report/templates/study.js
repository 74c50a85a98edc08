// The figures of a study, drawn when they come into view.
async function startStudy() {
  const places = [...document.querySelectorAll(".drawn")];
  if (!places.length) return;
  const drawings = await unpack("study");
  const show = () => { for (const place of places) place.replaceChildren(...drawings[place.dataset.part].map(chartView)); };
  show();
  document.addEventListener("theme", show);
}
