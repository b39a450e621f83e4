"use strict";
// The nodes of the model, with what they cost, what was fused, and layouts.

// Pixels of a picture; browsers draw nothing on larger canvases.
const HIGHEST = 12000;

function showGraph(data, place) {
  const { nodes, edges } = data.drawing;
  if (!nodes.length) {
    place.append(element("p", { class: "dim" }, "The graph of the model was not recorded."));
    return;
  }
  place.append(element("p", { class: "dim" }, "The area of a node is its cycles, its colour the part of them in which the program stood still (blue: none, red: all). "
    + "Nodes with outlines of one colour run as one loop nest. Small grey nodes cost nothing. Drag to move, click a node for its layouts."));
  const group = new Map();
  data.record.fused.forEach((names, i) => names.forEach((name) => { if (!group.has(name)) group.set(name, i); }));
  const box = element("div", { class: "box" });
  const about = element("div", { class: "box" });
  place.append(box, about);
  const most = Math.max(1, ...data.record.nodes.map((node) => node.cycles));
  const types = new Map(data.record.graph.map((node) => [node.name, node.type]));
  const drawn = nodes.map(({ name, x, y }, number) => {
    const cost = data.nodes.get(name);
    const stalled = cost ? cost.stall_cycles / Math.max(1, cost.cycles) : 0;
    const own = group.get(name);
    return {
      id: String(number), name, x: 220 * x, y: 60 * y, symbol: "circle",
      symbolSize: cost ? 8 + 24 * Math.sqrt(cost.cycles / most) : 6,
      itemStyle: { color: cost ? mixed(stalled) : "#c8ccd4", borderColor: own === undefined ? "#fff" : COLOURS[own % COLOURS.length], borderWidth: own === undefined ? 1 : 3 },
    };
  });
  const depth = Math.max(...nodes.map((node) => node.y));
  const made = chart(box, Math.max(320, Math.min(HIGHEST, 90 + 40 * (depth + 1))));
  made.setOption({
    animation: false,
    tooltip: { confine: true, formatter: (p) => (p.dataType === "node" ? nodeText(data, p.name, types) : escaped(`${nodes[p.data.source].name} to ${nodes[p.data.target].name}`)) },
    series: [{
      type: "graph", layout: "none", top: 40, bottom: 40, roam: depth < 20 || "move", data: drawn, edgeSymbol: ["none", "arrow"], edgeSymbolSize: 6,
      links: edges.map(([source, target]) => ({ source, target })),
      label: { show: true, position: "right", formatter: (p) => `${p.name} (${types.get(p.name)})`, fontSize: 11 },
      lineStyle: { color: "#9aa4b5", width: 1 }, scaleLimit: { min: 0.2, max: 20 }, labelLayout: { hideOverlap: true },
    }],
  });
  made.on("click", (event) => { if (event.dataType === "node") about.replaceChildren(...nodeDetails(data, event.name)); });
}

function mixed(share) {
  const [a, b] = [[78, 121, 167], [225, 87, 89]];
  return `rgb(${a.map((v, i) => Math.round(v + share * (b[i] - v))).join(",")})`;
}

function nodeText(data, name, types) {
  const cost = data.nodes.get(name);
  const text = cost ? `${count(cost.cycles)} cycles, ${count(cost.stall_cycles)} stalled, ${count(cost.mv_transfers)} MVs` : "folded away, or only a matter of places";
  return `<b>${escaped(name)}</b> (${escaped(types.get(name) || "")})<br>${text}`;
}

function nodeDetails(data, name) {
  const rows = layoutsOf(data, name).flatMap((entry) => [
    ...entry.operands.map((operand) => [`reads ${operand.of}`, operand.shape, operand.layout || "in tiles, made where they are used"]),
    [`gives ${entry.nodes.join(" + ")}`, entry.shape, entry.result],
  ]);
  const fused = data.record.fused.filter((names) => names.includes(name)).map((names) => names.join(" + "));
  return [element("b", {}, name), element("p", { class: "dim" }, fused.length ? `runs as one with: ${fused.join("; ")}` : "not fused"),
    element("table", {}, rows.map((row) => element("tr", {}, element("td", {}, row[0]), element("td", {}, row[1]), element("td", { class: "code" }, row[2]))))];
}
