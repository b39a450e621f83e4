"use strict";
// What each pass did, and what was decided among what.

function showPasses(data, place) {
  const total = data.record.passes.reduce((sum, pass) => sum + pass.seconds, 0);
  const rows = data.record.passes.map((pass, i) => ({ ...pass, number: i + 1 }));
  place.append(element("p", { class: "dim" }, `${total.toFixed(2)} s in the passes that led to this program. Operations count those of all levels of nesting.`));
  place.append(table(rows, [
    ["number", (r) => r.number, "number"], ["pass", (r) => r.pass, "code"],
    ["operations before", (r) => r.before, "number"], ["after", (r) => r.after, "number"],
    ["seconds", (r) => r.seconds, "number", (r) => bar(r.seconds / Math.max(total, 1e-9), r.seconds.toFixed(4))],
    ["preferences", (r) => r.attempt, ""],
  ], 0));
  const refusals = element("div", { class: "box scroll" }, data.record.refusals.map((line) => element("div", {}, line)));
  place.append(element("h2", {}, `Refused rewrites (${data.record.refusals.length})`), refusals);
}

const PART_COLOURS = ["#4e79a7", "#f28e2b", "#76b7b2", "#b07aa1", "#9c755f", "#bab0ac"];

function showDecisions(data, place) {
  const { decisions } = data.record;
  place.append(element("p", { class: "dim" }, "Alternatives that were compared, with their estimated costs in steps. The one that was chosen is marked."));
  const box = element("div", { class: "box" });
  const filter = element("input", { type: "search", placeholder: "node or decision", "aria-label": "filter" });
  const list = element("div");
  function fill() {
    const wanted = filter.value.toLowerCase();
    const shown = decisions.filter((d) => `${d.node} ${d.decision} ${d.reason}`.toLowerCase().includes(wanted));
    list.replaceChildren(...shown.slice(0, 500).map((decision) => decisionDetails(decision)));
  }
  filter.addEventListener("input", fill);
  box.append(element("div", { class: "tools" }, filter, element("span", { class: "dim" }, `${decisions.length} decisions`)), list);
  place.append(box);
  fill();
}

function decisionDetails(decision) {
  const title = `${decision.decision} of ${decision.node || "the program"}: ${decision.candidates.length} candidates; chosen: ${decision.reason}`;
  const made = element("details", {}, element("summary", {}, title));
  made.addEventListener("toggle", () => {
    if (made.childElementCount > 1) return;
    const most = Math.max(1, ...decision.candidates.map((c) => c.price));
    made.append(element("table", {}, decision.candidates.map((candidate) => element("tr",
      { class: candidate.what === decision.chosen ? "chosen" : "" },
      element("td", { class: "number" }, count(candidate.price)), element("td", {}, parts(candidate, most)),
      element("td", { class: "code" }, candidate.what)))));
  }, { once: false });
  return made;
}

function parts(candidate, most) {
  const entries = Object.entries(candidate.parts).filter(([, price]) => price > 0);
  const title = entries.map(([name, price]) => `${name} ${count(price)}`).join(", ");
  const total = entries.reduce((sum, [, price]) => sum + price, 0) || 1;
  const pieces = entries.map(([, price], i) => element("span", { style: `flex:${price / total};background:${PART_COLOURS[i % PART_COLOURS.length]}` }));
  return element("div", { class: "stack", style: `width:${Math.round(160 * candidate.price / most)}px`, title }, pieces);
}
