// The dealer's page. It shows what the daemon says and decides nothing: the sentence comes ready in every language.

import { element, face, spoken } from "./cards.js";
import { follow } from "./stream.js";

const REFUSED_MS = 4000;
const at = (id) => document.getElementById(id);

const SIGNS = {
  deal: "M50 8V84M18 54L50 88L82 54",
  rescan: "M84 50A34 34 0 1 1 72 24M74 4V28H50",
  call_supervisor: "M50 92C24 92 20 70 12 56C10 48 20 46 24 54L30 62V24C30 14 42 14 42 24V46V14C42 4 54 4 54 14V46V20C54 10 66 10 66 20V50V32C66 24 78 24 78 32V64C78 82 68 92 50 92Z",
  scanner_down: "M8 92L28 72M28 72C16 58 22 48 32 40L60 68C50 80 40 84 28 72ZM42 44L54 32M56 58L68 46M62 24L76 38M70 30L92 8",
  scanner_error: "M50 8L94 88H6ZM50 36V60M50 74V75",
  network_down: "M14 40C36 20 64 20 86 40M30 58C42 48 58 48 70 58M50 78V79M12 12L88 90",
  storage_fault: "M18 20C18 6 82 6 82 20V78C82 92 18 92 18 78ZM18 20C18 34 82 34 82 20M36 52L64 78M64 52L36 78",
  complete: "M10 54L38 82L90 20",
  wait: "M24 8H76M24 92H76M30 8C30 40 70 60 70 92M70 8C70 40 30 60 30 92",
  lost: "M36 64L20 80M64 36L80 20M26 52C14 64 14 78 22 84C30 90 42 86 50 76M74 48C86 36 86 22 78 16C70 10 58 14 50 24M34 26L28 14M26 36L14 32M66 74L72 86M74 64L86 68",
};

let texts = {};
let language = "en";
let latest = null;
let hello = null;
let lost = true;
let refusedSeq = null;
let refusedFor = null;
let refusedTimer = 0;
let shape = "";
let made = [];
let rows = "";
let shownCards = {};

const words = () => texts[language];
const fill = (text, blanks) => text.replace(/\{(\w+)\}/g, (whole, key) => blanks[key] ?? whole);
const slotName = (slot) => (words().hands[slot[0]] ?? slot[0]) + slot.slice(1);

const store = {
  get(key) { try { return localStorage.getItem(key); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(key, value); } catch { /* a kiosk may forbid it */ } },
};

// --- what is shown ---

function render() {
  if (!words()) return;
  document.documentElement.lang = language;
  at("language-label").textContent = words().page.language;
  at("supervisor").textContent = words().page.supervisor;
  renderSound();
  if (hello) {
    at("table").textContent = fill(words().page.title, hello);
    document.title = at("table").textContent;
  }
  renderSentence();
  renderRefused();
  if (latest?.round) renderRound(latest.round, latest.prompt);
  if (latest?.status) renderStatus(latest.status);
}

function renderSentence() {
  const prompt = latest?.prompt;
  const code = lost || !prompt ? "lost" : prompt.code;
  document.body.classList.toggle("lost", lost);
  document.body.dataset.code = code;
  at("sign").replaceChildren(element("path", { d: SIGNS[code] ?? SIGNS.wait }));
  const told = code === "lost" ? `${words().page.lost}. ${words().page.lost_detail}` : latest.sentences[language];
  const whole = told.replace(/ (?=(?:\d+|\p{L}\d+)(?:[:,;]|\s|$))/gu, "\u00a0");
  if (at("sentence").textContent !== whole) at("sentence").textContent = whole;
  fit();
}

// The largest letters that fit.
function fit() {
  const box = at("sentence");
  let size = box.clientHeight * 0.62;
  do {
    box.style.fontSize = `${size}px`;
    size *= 0.94;
  } while (size > 12 && (box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1));
}

function renderRound(round, prompt) {
  at("round").textContent = round.round === null ? words().page.no_round : fill(words().page.round, round);
  const wanted = JSON.stringify(round.plan);
  if (shape !== wanted) buildHands(round.plan), (shape = wanted), arrange();
  for (const slot of round.plan) renderSlot(slot, round, prompt);
  for (const hand of document.querySelectorAll(".hand")) {
    hand.querySelector("h2").textContent = handTitle(hand.dataset.hand, round.plan);
    hand.classList.toggle("due", hand.querySelector(".due") !== null);
  }
  shownCards = round.cards;
}

function buildHands(plan) {
  const hands = [...new Set(plan.map((slot) => slot[0]))];
  made = hands.map((hand) => {
    const slots = plan.filter((slot) => slot[0] === hand);
    const section = document.createElement("section");
    section.className = "hand";
    section.dataset.hand = hand;
    const title = document.createElement("h2");
    title.id = `hand-${hand}`;
    section.setAttribute("aria-labelledby", title.id);
    const list = document.createElement("ol");
    list.className = "slots";
    for (const slot of slots) {
      const item = document.createElement("li");
      item.id = `slot-${slot}`;
      list.append(item);
    }
    section.style.setProperty("--count", slots.length);
    const box = document.createElement("div");
    box.className = "box";
    box.append(list);
    section.append(title, box);
    return section;
  });
  rows = "";
}

// A game whose hands are all players' calls them so; another has the player, the dealer and the table, by their letters.
function handTitle(hand, plan) {
  const players = plan.every((slot) => words().hands[slot[0]]);
  return players ? fill(words().page.player, { hand: slotName(hand) }) : slotName(hand);
}

// Hands stand in the order of the deal, in as many rows as make the cards largest.
function arrange() {
  const { clientWidth: wide, clientHeight: high } = at("hands");
  const counts = made.map((hand) => hand.querySelectorAll("li").length);
  let best = [];
  let largest = 0;
  for (let breaks = 0; breaks < 2 ** Math.max(0, made.length - 1); breaks++) {
    const split = made.reduce((all, _, n) => {
      if (n > 0 && breaks & (1 << (n - 1))) all.push([]);
      all.at(-1).push(n);
      return all;
    }, [[]]);
    const size = cardSize(split.map((row) => row.reduce((sum, n) => sum + counts[n], 0)), wide, high);
    if (size > largest) (largest = size), (best = split);
  }
  if (rows === JSON.stringify(best)) return;
  rows = JSON.stringify(best);
  at("hands").replaceChildren(...best.map((row) => {
    const line = document.createElement("div");
    line.className = "row";
    line.append(...row.map((n) => made[n]));
    return line;
  }));
}

// About how wide a card gets where the rows have so many slots; a title takes its part of each row.
function cardSize(slots, wide, high) {
  return Math.min(wide / Math.max(...slots), (high / slots.length - innerHeight * 0.07) / 1.4);
}

function renderSlot(slot, round, prompt) {
  const item = at(`slot-${slot}`);
  const card = round.cards[slot];
  const due = prompt?.slot === slot && !card;
  const state = due ? { deal: "deal", rescan: "again" }[prompt.code] ?? "stopped" : "";
  const conflict = prompt?.conflict_slot === slot;
  const classes = ["slot"];
  if (!card) classes.push("empty");
  if (due) classes.push("due", state);
  if (conflict) classes.push("conflict");
  if (card && shownCards[slot] !== card && shape) classes.push("fresh");
  item.className = classes.join(" ");
  const name = slotName(slot);
  const said = card ? spoken(card, words().cards) : due ? dueWord(state) : words().page.empty;
  item.setAttribute("aria-label", `${name}: ${said}`);
  if (due) item.setAttribute("aria-current", "step"); else item.removeAttribute("aria-current");
  const key = [card, state, language].join();
  if (item.dataset.key === key) return;
  item.dataset.key = key;
  item.replaceChildren(...(card ? [face(card, words().cards)] : emptySlot(name, due, state)));
}

const dueWord = (state) => words().page[{ deal: "next", again: "again" }[state] ?? "stopped"];

function emptySlot(name, due, state) {
  const label = document.createElement("span");
  label.className = "name";
  label.textContent = name;
  if (!due) return [label];
  const word = document.createElement("span");
  word.className = "word";
  word.textContent = dueWord(state);
  const sign = { deal: SIGNS.deal, again: SIGNS.rescan }[state] ?? SIGNS.wait;
  return [element("svg", { viewBox: "0 0 100 100", class: "mark" }, [element("path", { d: sign })]), label, word];
}

function renderStatus(status) {
  at("scanners").replaceChildren(...Object.entries(status.scanners).map(([name, state]) => {
    const item = document.createElement("li");
    item.className = state;
    item.textContent = name;
    item.title = words().page[`scanner_${state}`] ?? state;
    item.setAttribute("aria-label", `${name}: ${item.title}`);
    return item;
  }));
  const waiting = at("outbox");
  waiting.hidden = status.outbox.depth < 2;
  const told = fill(words().page.waiting_out, status.outbox);
  waiting.title = told;
  waiting.setAttribute("role", "img");
  waiting.setAttribute("aria-label", told);
  waiting.replaceChildren(`⇡ ${status.outbox.depth}`);
}

// --- a read that was refused ---

function hearRefused(refused) {
  const seq = refused?.seq ?? 0;
  const isNew = refusedSeq !== null && seq > refusedSeq;
  refusedSeq = seq;
  if (!isNew) return;
  beep();
  if (latest.prompt?.code === "rescan") return;
  refusedFor = refused.reason;
  renderRefused();
  clearTimeout(refusedTimer);
  refusedTimer = setTimeout(() => { refusedFor = null; renderRefused(); }, REFUSED_MS);
}

function renderRefused() {
  const reason = words().reasons[refusedFor] ?? refusedFor;
  const told = refusedFor ? fill(words().page.refused, { reason }) : "";
  if (at("refused").textContent !== told) at("refused").textContent = told;
}

let audio = null;
let sound = store.get("scannerd-sound") !== "off";

const isBlocked = () => sound && audio !== null && audio.state !== "running";

function renderSound() {
  const button = at("sound");
  const blocked = isBlocked();
  const told = words().page[blocked ? "sound_blocked" : sound ? "sound_on" : "sound_off"];
  const label = document.createElement("span");
  if (!blocked) label.className = "wide";
  label.textContent = told;
  button.replaceChildren(sound ? "♪\u00a0" : "♪\u0338\u00a0", label);
  button.title = told;
  button.classList.toggle("blocked", blocked);
  button.setAttribute("aria-label", told);
  button.setAttribute("aria-pressed", String(sound));
}

// A browser may want a touch or a key before the first sound; a kiosk can be told not to.
function prepareSound() {
  try {
    audio = new AudioContext();
    audio.addEventListener("statechange", () => { if (words()) renderSound(); });
  } catch { /* a machine without sound */ }
  addEventListener("keydown", () => audio?.resume());
  addEventListener("pointerdown", (event) => { if (!at("sound").contains(event.target)) audio?.resume(); });
}

// Two low notes: heard in a hall, and unlike anything a game plays.
function beep() {
  if (!sound || audio === null) return;
  audio.resume();
  for (const offset of [0, 0.18]) {
    const tone = audio.createOscillator();
    const gain = audio.createGain();
    tone.type = "square";
    tone.frequency.value = 330;
    gain.gain.setValueAtTime(0.15, audio.currentTime + offset);
    gain.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + offset + 0.14);
    tone.connect(gain).connect(audio.destination);
    tone.start(audio.currentTime + offset);
    tone.stop(audio.currentTime + offset + 0.15);
  }
  document.body.dataset.beeps = Number(document.body.dataset.beeps ?? 0) + 1;
}

function toggleSound() {
  if (isBlocked()) { audio.resume(); return; }
  sound = !sound;
  store.set("scannerd-sound", sound ? "on" : "off");
  renderSound();
}

// --- the line to the daemon ---

function listen() {
  follow({
    hello: (told) => {
      if (hello && hello.version !== told.version) location.reload();
      hello = told;
      choose(new URLSearchParams(location.search).get("lang") ?? store.get("scannerd-language") ?? told.language);
    },
    show: (told) => {
      latest = told;
      lost = !told.prompt;
      render();
      hearRefused(told.refused);
    },
    lost: () => {
      lost = true;
      render();
    },
  });
}

function choose(wanted) {
  language = texts[wanted] ? wanted : "en";
  at("language").value = language;
  render();
}

async function begin() {
  try {
    texts = await (await fetch("/texts.json")).json();
  } catch {
    setTimeout(begin, 1000);
    return;
  }
  at("language").replaceChildren(...Object.entries(texts).map(([key, found]) => new Option(found.name, key)));
  choose(store.get("scannerd-language") ?? "en");
  listen();
}

at("language").addEventListener("change", (event) => {
  store.set("scannerd-language", event.target.value);
  const url = new URL(location.href);
  url.searchParams.delete("lang");
  history.replaceState(null, "", url);
  choose(event.target.value);
});
at("sound").addEventListener("click", toggleSound);
addEventListener("keydown", (event) => {
  if (event.key === "m" && !event.ctrlKey && event.target.tagName !== "SELECT") toggleSound();
});
new ResizeObserver(fit).observe(at("say"));
new ResizeObserver(arrange).observe(at("hands"));
prepareSound();
begin();
