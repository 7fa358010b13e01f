// What all pages share: words in the page's language, what the browser keeps, and short ways to the document.

export const at = (id) => document.getElementById(id);
export const fill = (text, blanks) => text.replace(/\{(\w+)\}/g, (whole, key) => blanks?.[key] ?? whole);

export const page = { texts: {}, language: "en", hello: null };
export const words = () => page.texts[page.language];
export const slotName = (slot) => (words().hands[slot[0]] ?? slot[0]) + slot.slice(1);

export const store = {
  get(key) { try { return localStorage.getItem(key); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(key, value); } catch { /* a browser, or a kiosk, may forbid it */ } },
};
