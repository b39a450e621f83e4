"use strict";
// Views are made when they are first looked at.

const VIEWS = [
  ["summary", "Summary", showSummary], ["nodes", "Nodes", showNodes], ["loops", "Loops", showLoops],
  ["timeline", "Timeline", showTimeline], ["memory", "Memory", showMemory], ["graph", "Graph", showGraph],
  ["passes", "Passes", showPasses], ["decisions", "Decisions", showDecisions],
];

const ALL = "all";

// "#all" shows everything below each other, for printing.
function showView(data, name) {
  const main = document.getElementById("main");
  for (const [other, , show] of VIEWS) {
    document.getElementById(`tab-${other}`).setAttribute("aria-selected", String(other === name));
    let place = document.getElementById(`view-${other}`);
    const wanted = other === name || name === ALL;
    if (wanted && !place) {
      place = element("section", { id: `view-${other}` });
      main.append(place);
      show(data, place);
    }
    if (place) place.hidden = !wanted;
  }
  charts.forEach((made) => made.resize());
}

async function start() {
  const data = prepare(await unpack());
  document.getElementById("title").textContent = `${data.record.title}: ${count(data.report.total.cycles)} cycles`;
  const tabs = document.getElementById("tabs");
  for (const [name, title] of VIEWS) {
    tabs.append(element("button", { id: `tab-${name}`, role: "tab", onclick: () => { location.hash = name; } }, title));
  }
  document.getElementById("loading").remove();
  const names = [ALL, ...VIEWS.map(([name]) => name)];
  const wanted = () => (names.includes(location.hash.slice(1)) ? location.hash.slice(1) : "summary");
  window.addEventListener("hashchange", () => showView(data, wanted()));
  showView(data, wanted());
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  document.getElementById("main").textContent = `The report cannot be shown: ${error.message}`;
  console.error(error);
});
