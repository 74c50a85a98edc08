// Why a text got its score: which word matched which, or how likely each token was.
function matchingMap(one) {
  const head = el("tr", null, el("th"), ...one.columns.map((word) => el("th", { scope: "col", text: word })));
  const body = one.rows.map((word, i) => {
    const best = Math.max(...one.values[i]);
    const cells = one.values[i].map((value) => el("td", {
      depth: Math.max(0, Math.min(1, value)).toFixed(2), text: value === best ? value.toFixed(2) : "",
      class: value === best ? "best" : null, title: number(value),
    }));
    return el("tr", null, el("th", { scope: "row", text: word }), ...cells);
  });
  return el("div", { class: "scroll" }, el("table", { class: "map" },
    el("caption", { class: "hidden", text: "Which word of the text matched which word of the reference" }),
    el("thead", null, head), el("tbody", null, ...body)));
}

function tokenLine(one) {
  const values = one.values.map((row) => row[0]);
  const line = el("p", { class: "tokens" });
  one.rows.forEach((word, i) => {
    const depth = Math.min(0.75, -Math.log10(Math.max(values[i], 1e-6)) / 6); // probabilities span decades
    line.append(el("span", { text: word, depth: depth.toFixed(2), title: `probability ${number(values[i])}` }), " ");
  });
  return line;
}

function explanationView(one) {
  const matching = one.kind === "matching";
  const title = matching ? "Which word matched which" : "How likely each token was";
  const key = matching ? "Rows: this text; columns: the reference; outlined: a word's best match." : "Darker: less likely.";
  return el("details", { class: "small" }, el("summary", { text: title }), el("p", { class: "meaning", text: key }), matching ? matchingMap(one) : tokenLine(one));
}
