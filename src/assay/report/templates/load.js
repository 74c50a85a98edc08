// Data that is packed in the page (base64 of gzipped JSON), unpacked once, when it is first needed.
const run = JSON.parse(document.getElementById("run").textContent);
const unpacked = new Map();
function unpack(name) {
  if (!unpacked.has(name)) {
    const node = document.getElementById(`${name}-data`);
    const bytes = Uint8Array.from(atob(node.textContent), (letter) => letter.charCodeAt(0));
    node.remove();
    unpacked.set(name, new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json());
  }
  return unpacked.get(name);
}

// Findings by column; everything below the answer is drawn once they are there.
let f = null;
const named = (column, i) => f[column].names[f[column].at[i]];

// A link to a finding keeps its target when the report is written again: it is a digest of the finding's name.
function findingId(i) {
  const text = ["metric", "audit", "slice", "statistic", "versus"].map((column) => named(column, i) || "").join("|");
  let a = 0xdeadbeef, b = 0x41c6ce57;
  for (let place = 0; place < text.length; place++) {
    const code = text.charCodeAt(place);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}
const findingLink = (i) => `#/finding/${findingId(i)}`;
const metricLink = (metric) => `#/metric/${encodeURIComponent(metric)}`;
