"use strict";
// Units by step. Where more slices are in view than can be told apart, they are joined in buckets: the owner that fills
// most of a bucket gives its colour, the part that is filled its strength.

const EXACT_SLICES = 4000, BUCKETS = 700;

// First index whose slice ends behind `step`; slices of a row are in order.
function firstBehind(row, step) {
  let low = 0, high = row.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.start[middle] + row.length[middle] <= step) low = middle + 1;
    else high = middle;
  }
  return low;
}

function firstFrom(row, step) {
  let low = 0, high = row.start.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.start[middle] < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Items [from, to, row, index of slice or -1, owner, share]
function slicesInView(rows, from, to) {
  const spans = rows.map((row) => [firstBehind(row, from), firstFrom(row, to)]);
  const total = spans.reduce((sum, [a, b]) => sum + Math.max(0, b - a), 0);
  const items = [];
  rows.forEach((row, r) => {
    const [a, b] = spans[r];
    if (total <= EXACT_SLICES) {
      for (let i = a; i < b; i++) items.push([row.start[i], row.start[i] + row.length[i], r, i, row.owner[i], 1]);
      return;
    }
    buckets(row, a, b, from, to, r, items);
  });
  return items;
}

function buckets(row, a, b, from, to, r, items) {
  const width = Math.max(1, (to - from) / BUCKETS);
  let i = a;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const low = from + bucket * width, high = low + width;
    const filled = new Map();
    let busy = 0, first = -1;
    while (i < b && row.start[i] < high) {
      const part = Math.min(row.start[i] + row.length[i], high) - Math.max(row.start[i], low);
      if (part > 0) {
        busy += part;
        if (first < 0) first = i;
        filled.set(row.owner[i], (filled.get(row.owner[i]) || 0) + part);
      }
      if (row.start[i] + row.length[i] > high) break;
      i++;
    }
    if (!busy) continue;
    const owner = [...filled].reduce((best, pair) => (pair[1] > best[1] ? pair : best))[0];
    items.push([low, high, r, first, owner, busy / width]);
  }
}

function showTimeline(data, place) {
  const rows = data.timeline.rows, end = Math.max(1, data.record.end);
  const find = element("input", { type: "search", placeholder: "node, instruction or line number", "aria-label": "search" });
  const found = element("span", { class: "dim" });
  const previous = element("button", { onclick: () => step(-1) }, "previous");
  const next = element("button", { onclick: () => step(1) }, "next");
  const whole = element("button", { onclick: () => zoom(0, end) }, "whole program");
  const text = element("pre", { class: "dim" }, "Wheel to zoom, drag to move, click a slice to see its line.");
  place.append(element("div", { class: "tools" }, find, previous, next, whole, found));
  const box = element("div", { class: "box" });
  place.append(box, text);
  const made = chart(box, 90 + 30 * rows.length);
  let view = [0, end], hits = [], at = -1, matching = null;

  const colour = (owner) => colourOf(data.ownerNames[owner]);
  function draw() {
    const items = slicesInView(rows, view[0], view[1]);
    const shown = items.map((item) => ({ value: item, itemStyle: {
      color: rows[item[2]].name === "stalled" ? "#e15759" : colour(item[4]),
      opacity: (matching && !matching.has(item[4]) ? 0.12 : 1) * (0.25 + 0.75 * Math.min(1, item[5])),
    } }));
    made.setOption({ series: [{ id: "slices", data: shown }] });
  }
  function zoom(from, to) {
    const least = Math.min(end, 24), middle = (from + to) / 2;
    if (to - from < least) [from, to] = [middle - least / 2, middle + least / 2];
    view = [Math.max(0, from), Math.min(end, to)];
    made.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, startValue: view[0], endValue: view[1] });
    draw();
  }
  function step(by) {
    if (!hits.length) return;
    at = (at + by + hits.length) % hits.length;
    const line = hits[at], where = data.timeline.steps[line];
    found.textContent = `${at + 1} of ${hits.length}`;
    showLine(line);
    const width = Math.min(view[1] - view[0], 200);
    zoom(where - width / 2, where + width / 2);
  }
  function showLine(line) {
    const own = data.lineOwner ? data.lineOwner.get(line) : undefined;
    text.textContent = `line ${line + 1}, step ${data.timeline.steps[line]}: ${data.lines[line]}` + (own === undefined ? "" : `\n${data.ownerNames[own]}`);
  }
  function search() {
    const wanted = find.value.trim().toLowerCase();
    hits = []; at = -1; matching = null;
    if (wanted) {
      matching = new Set(data.ownerNames.flatMap((name, i) => (name.toLowerCase().includes(wanted) ? [i] : [])));
      const byOwner = new Set(rows.flatMap((row) => Array.from(row.owner, (o, i) => (matching.has(o) ? row.line[i] : -1))));
      const number = /^\d+$/.test(wanted) ? Number(wanted) - 1 : -1;
      for (let line = 0; line < data.timeline.steps.length; line++) {
        if (byOwner.has(line) || line === number || data.lines[line].toLowerCase().includes(wanted)) hits.push(line);
      }
      if (!matching.size) matching = null;
    }
    found.textContent = wanted ? `${hits.length} lines` : "";
    draw();
    step(1);
  }
  find.addEventListener("change", search);
  made.setOption(timelineOption(rows, end, data));
  made.on("datazoom", () => {
    const { startValue, endValue } = made.getOption().dataZoom[0];
    view = [startValue, endValue];
    draw();
  });
  made.on("click", (event) => {
    if (event.value && event.value[3] >= 0) showLine(rows[event.value[2]].line[event.value[3]]);
  });
  data.lineOwner = new Map(rows.flatMap((row) => Array.from(row.line, (line, i) => [line, row.owner[i]])));
  draw();
}

function timelineOption(rows, end, data) {
  return {
    animation: false,
    grid: { left: 8, right: 20, top: 20, bottom: 64, containLabel: true },
    xAxis: { type: "value", min: 0, max: end, name: "step", nameLocation: "middle", nameGap: 22, axisLabel: { formatter: count } },
    yAxis: { type: "category", inverse: true, data: rows.map((row) => row.name), splitLine: { show: true } },
    dataZoom: [
      { type: "inside", xAxisIndex: 0, filterMode: "none", minValueSpan: 12 },
      { type: "slider", xAxisIndex: 0, filterMode: "none", height: 18, bottom: 8, minValueSpan: 12, labelFormatter: (v) => count(Math.round(v)) },
    ],
    tooltip: { confine: true, formatter: ({ value }) => sliceText(value, rows, data) },
    series: [{
      id: "slices", type: "custom", clip: true, encode: { x: [0, 1], y: 2 }, data: [],
      renderItem: (params, api) => {
        const a = api.coord([api.value(0), api.value(2)]), b = api.coord([api.value(1), api.value(2)]);
        const height = api.size([0, 1])[1] * 0.7;
        const shape = echarts.graphic.clipRectByRect(
          { x: a[0], y: a[1] - height / 2, width: Math.max(1, b[0] - a[0]), height }, params.coordSys);
        return shape && { type: "rect", shape, style: { fill: api.visual("color"), opacity: api.visual("opacity") } };
      },
    }],
  };
}

function sliceText([from, to, r, index, owner, share], rows, data) {
  const row = rows[r], line = row.line[index];
  const head = `<b>${escaped(row.name)}</b>, steps ${count(Math.round(from))} to ${count(Math.round(to))}`;
  const part = share < 0.995 ? `, ${percent(share)} at work` : "";
  const text = line === undefined ? "" : `<br>line ${line + 1}: <code>${escaped((data.lines[line] || "").slice(0, 160))}</code>`;
  return `${head}${part}<br>${escaped(data.ownerNames[owner].slice(0, 200))}${text}`;
}
