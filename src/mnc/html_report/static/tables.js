"use strict";
// The summary, and tables that sort and filter.

const ROWS_AT_ONCE = 300;
// Texts of a cell that may hold many: no row takes more than a few lines.
const FEW = 3;

// columns: [title, value of a row, "number" | "code" | "", cell of a row (optional)]
function table(rows, columns, start = 1, searched = null) {
  const box = element("div", { class: "box" });
  const filter = element("input", { type: "search", placeholder: "filter", "aria-label": "filter" });
  const shown = element("span", { class: "dim" });
  const head = element("tr", {}, columns.map(([title, , kind], i) =>
    element("th", { class: kind === "number" ? "number" : "", onclick: () => sort(i) }, title)));
  const body = element("tbody");
  let order = [...rows], column = start, down = true, limit = ROWS_AT_ONCE;
  function sort(i) {
    down = i === column ? !down : columns[i][2] === "number";
    column = i;
    fill();
  }
  function fill() {
    const wanted = filter.value.toLowerCase();
    const text = searched || ((row) => columns.map((c) => c[1](row)).join(" "));
    order = rows.filter((row) => !wanted || text(row).toLowerCase().includes(wanted));
    const value = columns[column][1];
    order.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return down ? -less : less;
    });
    body.replaceChildren(...order.slice(0, limit).map((row) => element("tr", {}, columns.map(([, of, kind, cell]) =>
      element("td", { class: kind }, cell ? cell(row) : kind === "number" ? count(of(row)) : String(of(row) ?? ""))))));
    if (order.length > limit) {
      const more = element("button", { onclick: () => { limit *= 4; fill(); } }, `show more of ${order.length}`);
      body.append(element("tr", {}, element("td", { colspan: columns.length }, more)));
    }
    shown.textContent = `${order.length} of ${rows.length}`;
  }
  filter.addEventListener("input", fill);
  box.append(element("div", { class: "tools" }, filter, shown), element("table", {}, element("thead", {}, head), body));
  fill();
  return box;
}

function bar(share, text) {
  const width = Math.max(0, Math.min(1, share)) * 60;
  return element("span", {}, element("span", { class: "bar", style: `width:${width}px` }), ` ${text}`);
}

function card(name, value, note = "") {
  return element("div", { class: "card" }, element("span", {}, name), element("b", {}, value), element("span", {}, note));
}

function waitText(waits) {
  return waits.map(([line, cycles]) => `${count(cycles)}: line ${line}`).join("; ");
}

// Cycles of waiting by line of the transfer; its text shows when the pointer rests on it.
function waitCell(data, waits) {
  const cell = element("span", {}, waits.slice(0, FEW).map(([line, cycles]) =>
    element("div", { title: data.lines[line - 1] || "" }, `${count(cycles)}: line ${line}`)));
  const rest = waits.slice(FEW);
  if (rest.length) cell.append(element("div", { class: "dim" },
    `${count(rest.reduce((sum, [, cycles]) => sum + cycles, 0))}: ${rest.length} more`));
  return cell;
}

// The first of several texts, the rest below a line that opens them.
function fewCell(texts) {
  const cell = element("span", {}, texts.slice(0, FEW).map((text) => element("div", {}, text)));
  if (texts.length > FEW) cell.append(element("details", { class: "more" },
    element("summary", {}, `${texts.length - FEW} more`), texts.slice(FEW).map((text) => element("div", {}, text))));
  return cell;
}

function costColumns(data, total) {
  return [
    ["cycles", (r) => r.cycles, "number"],
    ["of all", (r) => r.cycles / total, "number", (r) => bar(r.cycles / total, percent(r.cycles / total))],
    ["stalled", (r) => r.stall_cycles, "number"],
    ["steps", (r) => r.steps, "number"],
    ["idle", (r) => r.idle_steps, "number"],
    ["MAU steps", (r) => r.mau_steps, "number"],
    ["MVs", (r) => r.mv_transfers, "number"],
    ["DRAM bytes", (r) => r.dram_bytes, "number"],
    ["bound", (r) => r.bound_cycles, "number", (r) => (r.bound ? `${count(r.bound_cycles)} ${r.bound}` : "")],
    ["share of bound", (r) => r.share_of_bound, "number", (r) => (r.bound ? bar(r.share_of_bound, percent(r.share_of_bound)) : "")],
  ];
}

function layoutsOf(data, node) {
  return data.record.layouts.filter((entry) => entry.nodes.includes(node));
}

function showNodes(data, place) {
  const total = data.report.total.cycles;
  const resultsOf = (row) => [...new Set(layoutsOf(data, row.node).map((l) => l.result))];
  place.append(element("p", { class: "dim" }, "Stalled cycles belong to the node whose transfer the program waits for, idle steps to the node "
    + "that works next. All nodes together make the total. The bound of a node is the longer of two times: that of its matrix steps, and that of its DRAM traffic."));
  place.append(table(data.record.nodes, [
    ["node", (r) => r.node, ""], ["operator", (r) => r.type, ""],
    ...costColumns(data, total),
    ["layout of the result", (r) => resultsOf(r).join(" "), "code", (r) => fewCell(resultsOf(r))],
    ["precision", (r) => [...new Set(layoutsOf(data, r.node).map((l) => l.precision))].join(", "), ""],
    ["waits for", (r) => waitText(r.waits), "code", (r) => waitCell(data, r.waits)],
  ], 2));
}

function showLoops(data, place) {
  const total = data.report.total.cycles;
  const tensorsOf = (row) => row.tensors.map((t) => `${t.shape} ${t.layout || t.in}`);
  place.append(element("p", { class: "dim" }, "Loop nests, matrix products and movements of data, from which the instructions were made."));
  place.append(table(data.record.kernels, [
    ["number", (r) => r.number, "number"], ["kind", kernelName, ""],
    ["nodes", (r) => r.nodes.join(" + "), "names", (r) => fewCell(r.nodes)],
    ...costColumns(data, total),
    ["tensors and layouts", (r) => tensorsOf(r).join("\n"), "code", (r) => fewCell(tensorsOf(r))],
    ["precision", (r) => r.precision || "single", ""],
    ["waits for", (r) => waitText(r.waits), "code", (r) => waitCell(data, r.waits)],
  ], 3));
}

function showSummary(data, place) {
  const { total, ideal, of_ideal } = data.report;
  const cards = element("div", { class: "cards" });
  cards.append(card("cycles", count(total.cycles), `${(total.seconds * 1e6).toPrecision(3)} us at the machine's clock`));
  if (ideal) cards.append(card("of the ideal", percent(of_ideal),
    `the model needs ${count(ideal.cycles)} cycles at best: compute ${count(ideal.compute_cycles)}, DRAM ${count(ideal.dram_cycles)}`));
  cards.append(card("bound of this program", count(Math.max(total.program_compute_cycles, total.program_dram_cycles)),
    `cycles, padding and copies included: compute ${count(total.program_compute_cycles)}, DRAM ${count(total.program_dram_cycles)}`));
  cards.append(card("steps", count(total.steps), `${count(total.idle_steps)} idle, ${count(total.mau_steps)} with the MAU at work`));
  cards.append(card("stalled", percent(total.stall_cycles / Math.max(1, total.cycles)), `${count(total.stall_cycles)} cycles`));
  cards.append(card("DRAM", `${count(total.dram_bytes)} bytes`, `${count(total.mv_transfers)} MV transfers`));
  cards.append(card("layout preferences", data.report.preferences.join(", ") || "plain",
    data.record.attempts.length > 1 ? `compiled ${data.record.attempts.length} times` : "compiled once"));
  place.append(cards, element("h2", {}, "Most expensive nodes"));
  const box = element("div", { class: "box" });
  place.append(box);
  const top = data.record.nodes.slice(0, 15).reverse();
  const series = (name, of, colour) => ({ name, type: "bar", stack: "all", data: top.map(of), itemStyle: { color: colour } });
  chart(box, 90 + 26 * top.length).setOption({
    animation: false, tooltip: { trigger: "axis", axisPointer: { type: "shadow" } }, legend: { top: 0 },
    grid: { left: 8, right: 30, top: 30, bottom: 28, containLabel: true },
    xAxis: { type: "value", name: "cycles", nameLocation: "middle", nameGap: 24 },
    yAxis: { type: "category", data: top.map((node) => node.node), axisLabel: { width: 260, overflow: "truncate" } },
    series: [series("steps", (n) => 4 * n.steps, "#4e79a7"), series("idle", (n) => 4 * n.idle_steps, "#bab0ac"),
      series("stalled", (n) => n.stall_cycles, "#e15759")],
  });
}
