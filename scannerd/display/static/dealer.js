// The dealer's page. It shows what the daemon says and decides nothing: the sentence comes ready in every language.

import { at, fill, page, store, words } from "./base.js";
import { renderRound, startHands } from "./hands.js";
import { sign } from "./signs.js";
import { beep, renderSound, startSound } from "./sound.js";
import { follow } from "./stream.js";

const REFUSED_MS = 4000;

let latest = null;
let lost = true;
let refusedSeq = null;
let refusedFor = null;
let refusedTimer = 0;

// --- what is shown ---

function render() {
  if (!words()) return;
  document.documentElement.lang = page.language;
  at("language-label").textContent = words().page.language;
  at("supervisor").textContent = words().page.supervisor;
  renderSound();
  if (page.hello) {
    at("table").textContent = fill(words().page.title, page.hello);
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
  at("sign").replaceChildren(sign(code));
  const told = code === "lost" ? `${words().page.lost}. ${words().page.lost_detail}` : latest.sentences[page.language];
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

// --- the line to the daemon ---

function listen() {
  follow({
    hello: (told) => {
      if (page.hello && page.hello.version !== told.version) location.reload();
      page.hello = told;
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
  page.language = page.texts[wanted] ? wanted : "en";
  at("language").value = page.language;
  render();
}

async function begin() {
  try {
    page.texts = await (await fetch("/texts.json")).json();
  } catch {
    setTimeout(begin, 1000);
    return;
  }
  at("language").replaceChildren(...Object.entries(page.texts).map(([key, found]) => new Option(found.name, key)));
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
new ResizeObserver(fit).observe(at("say"));
startHands();
startSound();
begin();
