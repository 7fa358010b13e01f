// The hands as they are dealt: a card's face in each filled slot, the due one marked, empty ones named.

import { at, fill, page, slotName, words } from "./base.js";
import { element, face, spoken } from "./cards.js";
import { sign } from "./signs.js";

let shape = "";
let made = [];
let rows = "";
let shownCards = {};

export function renderRound(round, prompt) {
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
  const total = counts.reduce((sum, count) => sum + count, 0);
  let best = [];
  let largest = 0;
  for (let most = total; most >= Math.max(1, ...counts); most--) {
    const split = filled(counts, most);
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

// Rows of at most so many slots, each as full as the order allows.
function filled(counts, most) {
  const split = [];
  let left = 0;
  counts.forEach((count, n) => {
    if (count > left) split.push([]), (left = most);
    split.at(-1).push(n);
    left -= count;
  });
  return split;
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
  const key = [card, state, page.language].join();
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
  const mark = sign({ deal: "deal", again: "rescan" }[state] ?? "wait");
  return [element("svg", { viewBox: "0 0 100 100", class: "mark" }, [mark]), label, word];
}

export function startHands() {
  new ResizeObserver(arrange).observe(at("hands"));
}
