// What the supervisor's pages share: words, the language, asking the daemon, and cards in short.

import { at, fill, page, slotName, store, words } from "./base.js";
import { follow } from "./stream.js";

export { at, fill, page, slotName, words };
export const reasonOf = (reason) => words().reasons[reason] ?? reason ?? "";

export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") made.addEventListener("click", value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const SIGNS = { S: "♠", H: "♥", D: "♦", C: "♣" };

export function shortCard(card) {
  const [rank, suit] = card;
  const cards = words().cards;
  const label = rank === "T" ? "10" : cards[`face_${rank}`] ?? rank;
  const said = fill(cards.card, { rank: cards[rank] ?? (rank === "T" ? "10" : rank), suit: cards[suit] });
  const red = suit === "H" || suit === "D";
  return make("span", { class: red ? "card red" : "card", role: "img", "aria-label": said, title: said },
    `${label}${SIGNS[suit]}\ufe0e`);
}

export async function ask(path, fields) {
  const options = fields === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json", "x-scannerd-token": page.token ?? "" },
    body: JSON.stringify(fields),
  };
  try {
    const response = await fetch(path, options);
    return { status: response.status, told: await response.json() };
  } catch {
    return { status: 0, told: { error: "lost" } };
  }
}

export function tell(text, done = false) {
  at("told").textContent = text;
  at("told").classList.toggle("done", done);
}

export function translate() {
  document.documentElement.lang = page.language;
  for (const found of document.querySelectorAll("[data-word]")) found.textContent = words().supervisor[found.dataset.word];
  for (const found of document.querySelectorAll("[data-page]")) found.textContent = words().page[found.dataset.page];
}

// Loads the words, then listens to the daemon; `render` is called at each change of language, `heard` at each event.
export async function begin(render, heard) {
  const { status, told } = await ask("/texts.json");
  if (status !== 200) { setTimeout(() => begin(render, heard), 1000); return; }
  page.texts = told;
  at("language").replaceChildren(...Object.entries(told).map(([key, found]) => new Option(found.name, key)));
  at("language").addEventListener("change", (event) => {
    store.set("scannerd-language", event.target.value);
    choose(event.target.value, render);
  });
  listen(render, heard);
}

function choose(wanted, render) {
  page.language = page.texts[wanted] ? wanted : "en";
  at("language").value = page.language;
  translate();
  render();
}

// `heard` gets what is on show, or null while nobody knows.
function listen(render, heard) {
  follow({
    hello: (told) => {
      page.hello = told;
      choose(store.get("scannerd-language") ?? told.language, render);
    },
    show: heard,
    lost: () => heard(null),
  });
}
