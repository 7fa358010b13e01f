// The supervisor's page: sign in, act, and see what happened. Every action is a command that the daemon judges.

import { ask, at, begin, fill, make, page, reasonOf, shortCard, slotName, tell, words } from "./office.js";

const RANKS = "AKQJT98765432";
const SUITS = "SHDC";

// What each action asks for, and in which phases it makes sense.
const ACTIONS = {
  hold: { phases: ["dealing"], asks: ["reason"] },
  release: { phases: ["held"], asks: [] },
  rescan: { phases: ["dealing", "held"], asks: ["slot"] },
  enter: { phases: ["dealing", "held"], asks: ["slot", "card", "reason"], needs: true },
  void: { phases: ["dealing", "held", "complete"], asks: ["reason"], needs: true },
};

const KINDS = {
  round_opened: ["opened", ""], card_accepted: ["accepted", "good"], scan_rejected: ["rejected", "bad"],
  card_withdrawn: ["withdrawn", "again"], round_held: ["held", "again"], round_released: ["released", ""],
  round_completed: ["completed", "good"], round_voided: ["voided", "bad"], alarm_raised: ["alarm_raised", "bad"],
  alarm_cleared: ["alarm_cleared", ""],
};

let latest = null;
let session = {};
let rounds = [];
let before = null;
let asking = null;
let loadedAt = null;
let timer = 0;
const open = new Set();

function render() {
  document.title = at("title").textContent = fill(words().supervisor.title, page.hello);
  at("who").textContent = session.name ? fill(words().supervisor.signed_in, session) : "";
  at("sign-out").hidden = !session.name;
  at("sign-in").hidden = Boolean(session.name) || session.pin === false;
  at("inside").hidden = !session.name;
  if (session.pin === false) tell(words().supervisor.no_pin);
  renderNow();
  renderActions();
  renderAsk();
  renderRounds();
}

function renderNow() {
  at("now").textContent = latest?.prompt ? latest.sentences[page.language] : words().page.lost;
}

function renderActions() {
  const phase = latest?.prompt ? latest.round?.phase : null;  // without a daemon nothing can be done
  at("actions").replaceChildren(...Object.entries(ACTIONS).map(([name, action]) => make("button", {
    type: "button", id: `do-${name}`, disabled: action.phases.includes(phase) ? null : "",
    onclick: () => start(name),
  }, words().supervisor[name])));
}

function start(name) {
  tell("");
  if (ACTIONS[name].asks.length === 0) { send(name, {}); return; }
  asking = name;
  for (const field of ["rank", "suit", "reason"]) at(field).value = "";
  renderAsk();
  at({ slot: "slot", reason: "reason" }[ACTIONS[name].asks[0]]).focus();
}

function renderAsk() {
  at("ask").hidden = asking === null;
  if (asking === null) return;
  const { asks } = ACTIONS[asking];
  at("ask-title").textContent = words().supervisor[asking];
  for (const field of ["slot", "card", "reason"]) at(`ask-${field}`).hidden = !asks.includes(field);
  const { plan, cards, due } = latest.round;
  const slots = asking === "enter" ? [due].filter(Boolean) : plan.filter((slot) => cards[slot]);
  const options = slots.map((slot) => new Option(slotName(slot), slot));
  if (asking === "rescan") options.push(new Option(words().supervisor.rescan_all, "all"));
  keep(at("slot"), options);
  const names = words().cards;
  const none = () => new Option("–", "");  // no card is entered because it stood there first
  keep(at("rank"), [none(), ...[...RANKS].map((rank) => new Option(names[rank] ?? (rank === "T" ? "10" : rank), rank))]);
  keep(at("suit"), [none(), ...[...SUITS].map((suit) => new Option(names[suit], suit))]);
}

// The keyboard goes on where it came from.
function leaveAsk() {
  const left = asking;
  asking = null;
  renderAsk();
  if (left) at(`do-${left}`).focus();
}

function keep(select, options) {
  const chosen = select.value;
  select.replaceChildren(...options);
  if (options.some((option) => option.value === chosen)) select.value = chosen;
}

async function send(name, fields) {
  const { status, told } = await ask(`/supervisor/command/${name}`, fields);
  const said = words().supervisor;
  if (status === 200) {
    leaveAsk();
    tell(fill(said.done, { command: said[name] }), true);
  } else if (status === 401) await thrownOut();
  else if (told.error === "no_answer" || status === 0) tell(said.no_answer);
  else if (told.error === "missing_field") tell(said.reason_needed);
  else tell(fill(said.failed, { message: told.message ?? told.error }));
}

// --- rounds ---

async function load() {
  if (!session.name) return;
  const { status, told } = await ask("/supervisor/rounds.json");
  if (status === 401) { await thrownOut(); return; }
  if (status === 0) return;  // the daemon is gone, which is told already
  if (status !== 200) { tell(words().supervisor.unreadable); return; }
  rounds = told.rounds;
  before = told.before;
  renderRounds();
}

async function loadEarlier() {
  const { status, told } = await ask(`/supervisor/rounds.json?before=${before}`);
  if (status !== 200) return;
  rounds = [...rounds, ...told.rounds];
  before = told.before;
  renderRounds();
}

function renderRounds() {
  if (!session.name) return;
  at("earlier").hidden = before === null;
  const made = rounds.map(roundOf);
  at("rounds").replaceChildren(...(made.length ? made : [words().supervisor.no_rounds]));
}

function roundOf(round, number) {
  const said = words().supervisor;
  const key = round.events[0].seq;
  const types = round.events.map((event) => event.type);
  const cards = {};
  for (const { type, data } of round.events) {
    if (type === "card_accepted") cards[data.slot] = data.card;
    if (type === "card_withdrawn") delete cards[data.slot];
  }
  const rejected = types.filter((type) => type === "scan_rejected").length;
  const badges = [];
  if (rejected) badges.push(make("span", { class: "badge bad" }, `${said.rejected}: ${rejected}`));
  if (types.includes("round_voided")) badges.push(make("span", { class: "badge bad" }, said.voided));
  else if (types.includes("round_completed")) badges.push(make("span", { class: "badge good" }, said.completed));
  else if (types.lastIndexOf("round_held") > types.lastIndexOf("round_released")) badges.push(make("span", { class: "badge again" }, said.held));
  const made = make("details", { open: open.has(key) || (number === 0 && !open.has(`-${key}`)) ? "" : null },
    make("summary", {},
      make("strong", {}, round.round ? fill(words().page.round, round) : words().page.no_round),
      make("span", {}, clock(round.events[0].at)),
      make("span", { class: "cards" }, ...Object.entries(cards).map(([slot, card]) =>
        make("span", {}, `${slotName(slot)} `, shortCard(card)))),
      ...badges),
    make("div", { class: "scroll" }, table(round.events)));
  made.addEventListener("toggle", () => {
    open[made.open ? "add" : "delete"](key);
    open[made.open ? "delete" : "add"](`-${key}`);
  });
  return made;
}

function table(events) {
  const said = words().supervisor;
  const heads = ["time", "event", "slot", "card", "attempt", "reason", "scanner", "by"];
  return make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, said[head])))),
    make("tbody", {}, ...events.filter((event) => event.data).map(row)));
}

function row({ at: time, type, data }) {
  const [word, kind] = KINDS[type] ?? [null, ""];
  const manual = data.via === "manual";
  const what = manual ? words().supervisor.entered : word ? words().supervisor[word] : type;
  const slot = data.slot ? slotName(data.slot) : "";
  const why = [reasonOf(data.reason), data.conflict_slot ? slotName(data.conflict_slot) : "", data.alarm, data.detail]
    .filter(Boolean).join(" · ");
  return make("tr", { class: kind || null },
    make("td", { title: time }, clock(time)), make("td", {}, what), make("td", {}, slot),
    make("td", {}, data.card ? shortCard(data.card) : ""), make("td", {}, data.attempt ?? ""), make("td", {}, why),
    make("td", {}, data.scanner ?? ""), make("td", {}, data.by ?? ""));
}

const clock = (time) => new Date(time).toLocaleTimeString(page.language, { hour12: false });

// --- the way in ---

async function enter() {
  const { status, told } = await ask("/supervisor/session.json");
  if (status !== 200) { setTimeout(enter, 1000); return; }
  session = told;
  page.token = told.token ?? null;
  if (words()) {
    render();
    if (told.locked_min && !told.name) tell(fill(words().supervisor.locked, { minutes: told.locked_min }));
  }
  if (session.name) await load();
  else if (words() && session.pin) at("name").focus();
}

// The session has ended: after half an hour, with the daemon, or with the old PIN.
async function thrownOut() {
  asking = null;
  await enter();
  tell(words().supervisor.signed_out);
}

at("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const said = words().supervisor;
  const { status, told } = await ask("/supervisor/sign-in", { name: at("name").value, pin: at("pin").value });
  at("pin").value = "";
  if (status === 200) { tell(""); await enter(); return; }
  if (told.error === "locked") tell(fill(said.locked, told));
  else if (told.error === "wrong_pin") tell(fill(said.wrong_pin, told));
  else tell(said[told.error] ?? told.error);
});

at("sign-out").addEventListener("click", async () => {
  await ask("/supervisor/sign-out", {});
  asking = null;
  await enter();
});

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const { asks, needs } = ACTIONS[asking];
  const fields = {};
  if (asks.includes("slot")) fields.slot = at("slot").value;
  if (asks.includes("card")) {
    const lacking = ["rank", "suit"].find((part) => !at(part).value);
    if (lacking) { tell(words().supervisor.card_needed); at(lacking).focus(); return; }
    fields.card = at("rank").value + at("suit").value;
  }
  if (at("reason").value.trim()) fields.reason = at("reason").value.trim();
  if (needs && !fields.reason) { tell(words().supervisor.reason_needed); at("reason").focus(); return; }
  send(asking, fields);
});

at("cancel").addEventListener("click", leaveAsk);
at("ask").addEventListener("keydown", (event) => { if (event.key === "Escape") leaveAsk(); });
at("earlier").addEventListener("click", loadEarlier);

function heard(told) {
  latest = told ?? (latest && { ...latest, prompt: null });
  if (!words()) return;
  renderNow();
  const focused = document.activeElement?.id;
  renderActions();
  if (focused?.startsWith("do-")) at(focused)?.focus();
  const now = told && `${told.round?.seq} ${told.prompt?.since} ${told.refused?.seq}`;
  if (now && now !== loadedAt) {
    loadedAt = now;
    clearTimeout(timer);
    timer = setTimeout(load, 300);
  }
}

begin(render, heard).then(enter);
