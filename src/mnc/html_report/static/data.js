"use strict";
// Unpacks the data, and what all views share.

async function unpack() {
  const text = document.getElementById("data").textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

function prepare(data) {
  for (const row of data.timeline.rows) row.start = sums(row.start);
  data.timeline.steps = sums(data.timeline.steps);
  data.lines = data.text.split("\n");
  data.kernels = new Map(data.record.kernels.map((kernel) => [kernel.number, kernel]));
  data.nodes = new Map(data.record.nodes.map((node) => [node.node, node]));
  data.ownerNames = data.timeline.owners.map((own) => ownerName(data, own));
  return data;
}

function sums(deltas) {
  const result = new Int32Array(deltas.length);
  let total = 0;
  for (let i = 0; i < deltas.length; i++) result[i] = total += deltas[i];
  return result;
}

const KINDS = {
  dl: "load", ul: "store", matmul: "matrix product", loops: "loop nest", relayout: "change of layout",
  reduce: "reduction", fill_padding: "fill of padding", lookup: "look-up", spill: "store until needed",
};

function kernelName(kernel) {
  const extents = kernel.extents ? ` ${kernel.extents.join("x")}` : "";
  const what = kernel.tensor ? ` of ${kernel.tensor}` : "";
  return `${KINDS[kernel.kind] || kernel.kind}${extents}${what}`;
}

function ownerName(data, own) {
  if (!own.length) return "(nothing)";
  const names = own.map((owner) => {
    const kernel = data.kernels.get(owner);
    return kernel ? `${kernel.nodes.join(" + ")}: ${kernelName(kernel)}` : String(owner);
  });
  return names.length > 6 ? `${names.slice(0, 6).join("; ")}; ${names.length - 6} more` : names.join("; ");
}

const COLOURS = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#ff9da7", "#9c755f",
  "#86bcb6", "#d37295", "#8cd17d", "#a0cbe8", "#b6992d", "#499894", "#d4a6c8"];

function colourOf(text) {
  let hash = 7;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return COLOURS[Math.abs(hash) % COLOURS.length];
}

function count(value) {
  if (typeof value !== "number") return value === undefined || value === null ? "" : String(value);
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : Math.abs(value) < 1000 ? 1 : 0 });
}

function percent(value) {
  return `${(100 * value).toFixed(1)} %`;
}

// An element with attributes and children; text is never taken for markup.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value);
  }
  for (const child of children.flat()) made.append(child);
  return made;
}

function escaped(text) {
  return String(text).replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);
}

const charts = [];

function chart(parent, height) {
  const place = element("div", { class: "chart", style: `height:${height}px` });
  parent.append(place);
  const made = echarts.init(place, null, { renderer: "canvas" });
  charts.push(made);
  return made;
}

window.addEventListener("resize", () => charts.forEach((made) => made.resize()));
