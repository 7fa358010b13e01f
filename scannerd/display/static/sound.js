// The sound of a rejected read, and the button that mutes it.

import { at, store, words } from "./base.js";

let audio = null;
let sound = store.get("scannerd-sound") !== "off";

const isBlocked = () => sound && audio !== null && audio.state !== "running";

export function renderSound() {
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
export function startSound() {
  try {
    audio = new AudioContext();
    audio.addEventListener("statechange", () => { if (words()) renderSound(); });
  } catch { /* a machine without sound */ }
  addEventListener("keydown", () => audio?.resume());
  addEventListener("pointerdown", (event) => { if (!at("sound").contains(event.target)) audio?.resume(); });
  at("sound").addEventListener("click", toggleSound);
  addEventListener("keydown", (event) => {
    if (event.key === "m" && !event.ctrlKey && event.target.tagName !== "SELECT") toggleSound();
  });
}

// Two low notes: heard in a hall, and unlike anything a game plays.
export function beep() {
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
