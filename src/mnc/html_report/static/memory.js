"use strict";
// What every memory holds: addresses by step.

const MOST_DRAWN = 6000;

function showMemory(data, place) {
  const buffers = new Map();
  for (const buffer of data.record.buffers) {
    if (!buffers.has(buffer.memory)) buffers.set(buffer.memory, []);
    buffers.get(buffer.memory).push(buffer);
  }
  if (!buffers.size) {
    place.append(element("p", { class: "dim" }, "No addresses were recorded for this program."));
    return;
  }
  for (const [name, facts] of Object.entries(data.record.memories)) {
    const own = buffers.get(name);
    if (!own) continue;
    const peak = data.peaks[name];
    const full = percent(peak.used / peak.capacity);
    place.append(element("h2", {}, `${name}: at most ${count(peak.used)} of ${count(facts.longs)} long words of a ${facts.of} (${full}), at step ${count(peak.step)}`));
    const box = element("div", { class: "box" });
    place.append(box);
    memoryChart(chart(box, 300), own, data.record.end, peak);
    box.append(element("details", {}, element("summary", {}, "what the peak is made of"),
      element("table", {}, peak.tensors.map((tensor) => element("tr", {}, element("td", {}, tensor.tensor),
        element("td", { class: "number" }, count(tensor.size)),
        element("td", {}, bar(tensor.size / Math.max(1, peak.used), percent(tensor.size / Math.max(1, peak.used)))),
        element("td", { class: "dim" }, tensor.nodes.join(" + ")))))));
  }
}

function memoryChart(made, own, end, peak) {
  const drawn = own.length > MOST_DRAWN
    ? [...own].sort((a, b) => b.size * (b.last - b.first) - a.size * (a.last - a.first)).slice(0, MOST_DRAWN) : own;
  const top = own.reduce((most, buffer) => Math.max(most, buffer.base + buffer.size), 1);
  made.setOption({
    animation: false,
    grid: { left: 34, right: 20, top: 18, bottom: 60, containLabel: true },
    xAxis: { type: "value", min: 0, max: Math.max(1, end), name: "step", nameLocation: "middle", nameGap: 22, axisLabel: { formatter: count } },
    yAxis: { type: "value", min: 0, max: top, name: "long word", nameLocation: "middle", nameGap: 48, axisLabel: { formatter: count, showMaxLabel: false } },
    dataZoom: [{ type: "inside", xAxisIndex: 0, filterMode: "none" }, { type: "inside", yAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "shift" },
      { type: "slider", xAxisIndex: 0, filterMode: "none", height: 16, bottom: 6 }],
    tooltip: { confine: true, formatter: ({ dataIndex }) => bufferText(drawn[dataIndex]) },
    series: [{
      type: "custom", clip: true, encode: { x: [0, 1], y: [2, 3] },
      data: drawn.map((b) => ({ value: [b.first, Math.max(b.last, b.first + 1), b.base, b.base + b.size],
        itemStyle: { color: colourOf(b.tensor) } })),
      renderItem: (params, api) => {
        const a = api.coord([api.value(0), api.value(3)]), b = api.coord([api.value(1), api.value(2)]);
        const shape = echarts.graphic.clipRectByRect({ x: a[0], y: a[1], width: Math.max(1, b[0] - a[0]), height: Math.max(1, b[1] - a[1]) }, params.coordSys);
        if (!shape) return undefined;
        const buffer = drawn[params.dataIndex];
        const text = shape.width > 60 && shape.height > 12 ? buffer.tensor : "";
        return { type: "rect", shape, style: { fill: api.visual("color"), stroke: "#fff", lineWidth: 0.5, opacity: 0.9 },
          textContent: { style: { text, fill: "#fff", fontSize: 11, width: shape.width - 6, overflow: "truncate" } },
          textConfig: { position: "inside" } };
      },
      markLine: { silent: true, symbol: "none", data: [{ xAxis: peak.step }], label: { formatter: "peak" }, lineStyle: { color: "#111" } },
    }],
  });
}

function bufferText(buffer) {
  const where = `${buffer.memory} ${count(buffer.base)} to ${count(buffer.base + buffer.size - 1)} (${count(buffer.size)} long words)`;
  const nodes = buffer.nodes.slice(0, 6).map(escaped).join("<br>");
  return `<b>${escaped(buffer.tensor)}</b><br>${where}<br>steps ${count(buffer.first)} to ${count(buffer.last)}<br>${nodes}`;
}
