// Rejected reads over time, by card and by scanner: a worn card or a dirty lens stands out.

import { ask, at, begin, fill, make, page, reasonOf, shortCard, tell, words } from "./office.js";

let all = null;
let chosen = {};
let chart = null;

function render() {
  const said = words().misreads;
  document.title = at("title").textContent = fill(said.title, page.hello);
  at("scanner-title").textContent = said.by_scanner;
  at("card-title").textContent = said.by_card;
  at("unseen").textContent = said.unseen;
  if (!all) { load(); return; }
  at("inside").hidden = false;
  at("note").textContent = all.bounded ? fill(said.bounded, { count: all.events }) : "";
  list(at("scanners"), all.scanners, "scanner");
  list(at("cards"), all.cards, "card");
  draw();
}

async function load() {
  const { status, told } = await ask("/supervisor/misreads.json");
  if (status === 401) { location.href = "/supervisor"; return; }
  if (status !== 200) { tell(words().supervisor.unreadable); return; }
  all = told;
  chosen = {};
  render();
}

function list(table, group, kind) {
  const said = words().misreads;
  const found = Object.entries(group).sort((a, b) => share(b[1]) - share(a[1]) || b[1].rejected - a[1].rejected);
  const most = Math.max(0.0001, ...found.map(([, counts]) => share(counts)));
  const heads = [words().supervisor[kind], said.share, said.rejected, said.accepted, said.reasons];
  table.replaceChildren(
    make("thead", {}, make("tr", {}, ...heads.map((head, column) =>
      make("th", { scope: "col", class: column === 2 || column === 3 ? "number" : null }, head)))),
    make("tbody", {}, ...found.map(([name, counts]) => make("tr", {},
      make("td", {}, make("button", {
        type: "button", "aria-pressed": String(chosen[kind] === name), onclick: () => choose(kind, name),
      }, kind === "card" ? shortCard(name) : name)),
      make("td", {}, bar(share(counts) / most), ` ${(share(counts) * 100).toFixed(1)} %`),
      make("td", { class: "number" }, String(counts.rejected)),
      make("td", { class: "number" }, String(counts.accepted)),
      make("td", {}, Object.entries(counts.reasons).map(([reason, n]) => `${reasonOf(reason)}: ${n}`).join(", "))))));
  if (!found.length) table.replaceChildren(make("caption", {}, said.none));
}

const share = (counts) => counts.rejected / Math.max(1, counts.rejected + counts.accepted);

function bar(part) {
  const made = make("span", { class: "bar", "aria-hidden": "true" });
  made.style.width = `${Math.round(part * 90)}px`;
  return made;
}

async function choose(kind, name) {
  if (chosen[kind] === name) { chosen = {}; render(); return; }
  const { status, told } = await ask(`/supervisor/misreads.json?${new URLSearchParams({ [kind]: name })}`);
  if (status !== 200) return;
  chosen = { [kind]: name, hours: told.hours };
  render();
}

function draw() {
  const said = words().misreads;
  const hours = chosen.hours ?? all.hours;
  const name = chosen.scanner ?? (chosen.card ? fill(words().cards.card, {
    rank: words().cards[chosen.card[0]] ?? chosen.card[0].replace("T", "10"), suit: words().cards[chosen.card[1]],
  }) : "");
  at("chart-title").textContent = name ? `${said.over_time}: ${name}` : said.over_time;
  const times = spread(Object.keys(hours));
  const of = (time, key) => hours[stamp(time)]?.[key] ?? 0;
  const data = [times, times.map((time) => of(time, "rejected")), times.map((time) => of(time, "accepted"))];
  const wide = at("chart").clientWidth - 24;
  const axis = { stroke: "#b4c0cd", grid: { stroke: "#2a3341" }, ticks: { stroke: "#3a4556" } };
  chart?.destroy();
  chart = new uPlot({
    width: wide, height: 260, legend: { live: true },
    scales: { x: { time: true, range: (u, low, high) => [low - 1800, high + 1800] }, y: { range: (u, low, high) => [0, Math.max(1, high)] }, reads: { range: (u, low, high) => [0, Math.max(1, high)] } },
    axes: [{ ...axis, incrs: [3600, 7200, 14400, 28800, 86400], values: (u, at) => at.map(hourText) }, { ...axis, label: said.rejected, size: 60 }, { ...axis, scale: "reads", side: 1, label: said.accepted, grid: { show: false }, size: 60 }],
    series: [{ label: words().supervisor.time, value: (u, time) => (time === null ? "–" : hourText(time)) },
      { label: said.rejected, stroke: "#ff7b74", fill: "#ff7b7466", paths: uPlot.paths.bars({ size: [0.7, 60] }), points: { show: false } },
      { label: said.accepted, stroke: "#7fb8ff", scale: "reads", dash: [6, 4], width: 2 }],
  }, data, at("chart"));
}

// Every hour from the first to the last, so that one without reads shows as such; at most two weeks of them.
function spread(keys) {
  if (!keys.length) return [];
  const hour = (key) => Date.parse(`${key}:00:00Z`) / 1000;
  const last = hour(keys.at(-1));
  const first = Math.max(hour(keys[0]), last - 14 * 24 * 3600);
  return Array.from({ length: (last - first) / 3600 + 1 }, (_, n) => first + n * 3600);
}

const hourText = (time) => new Date(time * 1000).toLocaleString(page.language,
  { day: "2-digit", month: "2-digit", hour: "2-digit", minute: "2-digit", hour12: false });

const stamp = (time) => new Date(time * 1000).toISOString().slice(0, 13);

addEventListener("resize", () => { if (all && words()) draw(); });
begin(render, () => {});
