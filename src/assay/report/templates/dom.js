"use strict";
// Elements from text: nothing here reads text as markup, so a hypothesis can hold anything.
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") made.textContent = value;
    else if (name === "depth") made.style.setProperty("--depth", value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  for (const child of children) if (child !== null && child !== undefined) made.append(child);
  return made;
}

function number(value) {
  if (value === null || value === undefined) return "";
  if (Math.abs(value) < 1e-6) return "0";  // what rounding left of 0
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

// A p- or q-value: q = 0.032, q < 0.001.
const probability = (name, value) => value < 0.001 ? `${name} < 0.001` : `${name} = ${value.toFixed(3)}`;

// A verdict as the name of a style.
const slug = (verdict) => verdict.replaceAll(" ", "-");

// A cell that starts like a formula is quoted: spreadsheets run it otherwise.
function csvCell(value) {
  let text = value === null || value === undefined ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function downloadCsv(name, columns, rows) {
  const lines = [columns, ...rows].map((row) => row.map(csvCell).join(","));
  const link = el("a", { href: URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

// Words of two texts: what both have (0), what the first lost (-1), what the second gained (1).
function compareWords(before, after) {
  const a = before.match(/\S+\s*/g) || [], b = after.match(/\S+\s*/g) || [];
  const same = (i, j) => a[i].trimEnd() === b[j].trimEnd();
  if (a.length * b.length > 400000) return [[0, after]];
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i][j] = same(i, j) ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  const parts = [];
  const push = (kind, word) => {
    const last = parts[parts.length - 1];
    if (last && last[0] === kind) last[1] += word; else parts.push([kind, word]);
  };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && same(i, j)) { push(0, b[j]); i++; j++; }
    else if (i < a.length && (j >= b.length || lengths[i + 1][j] >= lengths[i][j + 1])) push(-1, a[i++]);
    else push(1, b[j++]);
  }
  return parts;
}

// For who copies a text or has it read aloud: there, colours do not say which words are gone and which are new.
const hiddenText = (text) => el("span", { class: "unseen", text });

// A text with its changes marked; one that shares little with the text before it is another text, and not marked.
function markedText(before, after) {
  const line = el("p");
  let parts = before === null ? [[0, after]] : compareWords(before, after);
  const shared = parts.filter(([kind]) => kind === 0).reduce((sum, [, words]) => sum + words.length, 0);
  if (shared < 0.25 * Math.min(after.length, (before || after).length)) parts = [[0, after]];
  for (const [kind, words] of parts)
    if (kind === 0) line.append(words);
    else line.append(hiddenText(kind < 0 ? "[removed: " : "[added: "), el(kind < 0 ? "del" : "mark", { text: words.trimEnd() }), hiddenText("]"), " ");
  return line;
}
