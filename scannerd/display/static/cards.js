// Card faces, drawn here: an index large enough for two metres, pips in their usual places, and busts for the courts.
// Suits differ in shape first and in colour second.

const SVG = "http://www.w3.org/2000/svg";

const SUITS = {
  S: "M50 4C50 4 94 40 94 64C94 86 69 91 56 74C57 84 61 91 69 96L31 96C39 91 43 84 44 74C31 91 6 86 6 64C6 40 50 4 50 4Z",
  H: "M50 95C18 66 4 49 4 31C4 14 18 5 31 7C41 9 48 17 50 26C52 17 59 9 69 7C82 5 96 14 96 31C96 49 82 66 50 95Z",
  D: "M50 2C58 20 73 38 88 50C73 62 58 80 50 98C42 80 27 62 12 50C27 38 42 20 50 2Z",
  C: "M50 4A22 22 0 0 1 67 40A22 22 0 1 1 56 71C57 82 61 91 69 96L31 96C39 91 43 82 44 71A22 22 0 1 1 33 40A22 22 0 0 1 50 4Z",
};

const RED = "#c4122f";
const BLACK = "#14161a";
const GOLD = "#e8b730";

// Where the pips of each number stand: column (-1, 0, 1) and height (0 above, 1 below); those below turn round.
const PIPS = {
  2: [[0, 0], [0, 1]],
  3: [[0, 0], [0, 0.5], [0, 1]],
  4: [[-1, 0], [1, 0], [-1, 1], [1, 1]],
  5: [[-1, 0], [1, 0], [0, 0.5], [-1, 1], [1, 1]],
  6: [[-1, 0], [1, 0], [-1, 0.5], [1, 0.5], [-1, 1], [1, 1]],
  7: [[-1, 0], [1, 0], [0, 0.25], [-1, 0.5], [1, 0.5], [-1, 1], [1, 1]],
  8: [[-1, 0], [1, 0], [0, 0.25], [-1, 0.5], [1, 0.5], [0, 0.75], [-1, 1], [1, 1]],
  9: [[-1, 0], [1, 0], [-1, 0.333], [1, 0.333], [0, 0.5], [-1, 0.667], [1, 0.667], [-1, 1], [1, 1]],
  T: [[-1, 0], [1, 0], [0, 0.167], [-1, 0.333], [1, 0.333], [-1, 0.667], [1, 0.667], [0, 0.833], [-1, 1], [1, 1]],
};

const HEADS = {
  K: [
    ["path", { d: "M99 96C99 128 112 140 125 144C138 140 151 128 151 96Z", fill: "#7a5230" }],
    ["circle", { cx: 125, cy: 94, r: 25, fill: "#f4d8b4" }],
    ["path", { d: "M102 104C106 132 118 136 125 138C132 136 144 132 148 104C140 112 133 112 125 108C117 112 110 112 102 104Z", fill: "#7a5230" }],
    ["path", { d: "M96 78L92 46L109 60L125 38L141 60L158 46L154 78Z", fill: GOLD, stroke: BLACK, "stroke-width": 3 }],
    ["path", { d: "M121 26H129V34H137V40H129V48H121V40H113V34H121Z", fill: GOLD, stroke: BLACK, "stroke-width": 2 }],
  ],
  Q: [
    ["path", { d: "M96 92C92 62 158 62 154 92C156 116 162 128 158 142L92 142C88 128 94 116 96 92Z", fill: "#a8641e" }],
    ["circle", { cx: 125, cy: 96, r: 24, fill: "#f4d8b4" }],
    ["path", { d: "M101 76C101 66 112 62 125 62C138 62 149 66 149 76L156 50L140 62L125 42L110 62L94 50Z", fill: GOLD, stroke: BLACK, "stroke-width": 3 }],
    ["circle", { cx: 94, cy: 47, r: 5, fill: "#fff", stroke: BLACK, "stroke-width": 2 }],
    ["circle", { cx: 125, cy: 38, r: 6, fill: "#fff", stroke: BLACK, "stroke-width": 2 }],
    ["circle", { cx: 156, cy: 47, r: 5, fill: "#fff", stroke: BLACK, "stroke-width": 2 }],
  ],
  J: [
    ["path", { d: "M98 88C96 120 100 128 106 130H144C150 128 154 120 152 88Z", fill: "#c98a3c" }],
    ["circle", { cx: 125, cy: 98, r: 24, fill: "#f4d8b4" }],
    ["path", { d: "M94 82C92 60 108 52 130 52C150 52 160 64 156 82Z", fill: "#2d5fa8", stroke: BLACK, "stroke-width": 3 }],
    ["path", { d: "M150 66C160 52 166 42 162 30C150 36 142 48 142 62Z", fill: GOLD, stroke: BLACK, "stroke-width": 2 }],
    ["rect", { x: 92, y: 78, width: 66, height: 9, rx: 4, fill: GOLD, stroke: BLACK, "stroke-width": 2 }],
  ],
};

export function element(name, attributes = {}, children = []) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function suitAt(suit, colour, x, y, size, turned = false) {
  const scale = size / 100;
  const turn = turned ? ` rotate(180 50 50)` : "";
  return element("path", {
    d: SUITS[suit], fill: colour, transform: `translate(${x - size / 2} ${y - size / 2}) scale(${scale})${turn}`,
  });
}

function index(label, suit, colour) {
  const text = element("text", {
    x: 37, y: 67, "text-anchor": "middle", "font-size": label.length > 1 ? 62 : 72, "font-weight": 700, fill: colour,
    "font-family": "'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif",
  });
  if (label.length > 1) text.setAttribute("textLength", 52), text.setAttribute("lengthAdjust", "spacingAndGlyphs");
  text.textContent = label;
  return element("g", {}, [text, suitAt(suit, colour, 37, 101, 48)]);
}

function turned(group) {
  return element("g", { transform: "rotate(180 125 175)" }, [group]);
}

function pips(rank, suit, colour) {
  return PIPS[rank].map(([column, height]) =>
    suitAt(suit, colour, 125 + column * 37, 64 + height * 222, 46, height > 0.5));
}

function bust(rank, suit, colour) {
  const parts = [
    ["path", { d: "M70 175V152C82 130 104 124 125 124C146 124 168 130 180 152V175Z", fill: colour }],
    ["path", { d: "M104 126L125 160L146 126L138 122H112Z", fill: GOLD, stroke: BLACK, "stroke-width": 2 }],
    ...HEADS[rank],
    ["circle", { cx: 116, cy: 95, r: 3.2, fill: BLACK }],
    ["circle", { cx: 134, cy: 95, r: 3.2, fill: BLACK }],
    ["path", { d: "M118 109Q125 114 132 109", fill: "none", stroke: BLACK, "stroke-width": 2.5 }],
  ].map(([name, attributes]) => element(name, attributes));
  return element("g", {}, [...parts, suitAt(suit, "#fff", 88, 160, 20), suitAt(suit, "#fff", 162, 160, 20)]);
}

function court(rank, suit, colour) {
  const frame = { x: 70, y: 20, width: 110, height: 310, rx: 8, fill: "#fbf3df", stroke: colour, "stroke-width": 4 };
  return [
    element("rect", frame), bust(rank, suit, colour), turned(bust(rank, suit, colour)),
    element("path", { d: "M70 175H180", stroke: GOLD, "stroke-width": 5 }),
  ];
}

// The face of a card such as "AS", with the language's own letters of the courts.
export function face(card, words) {
  const [rank, suit] = card;
  const colour = suit === "H" || suit === "D" ? RED : BLACK;
  const label = rank === "T" ? "10" : words[`face_${rank}`] ?? rank;
  const middle = rank === "A" ? [suitAt(suit, colour, 125, 175, 120)]
    : PIPS[rank] ? pips(rank, suit, colour) : court(rank, suit, colour);
  const corner = () => index(label, suit, colour);
  return element("svg", { viewBox: "0 0 250 350", class: "face", "aria-hidden": "true" }, [
    element("rect", { x: 2, y: 2, width: 246, height: 346, rx: 18, fill: "#fff", stroke: "#9aa3ad", "stroke-width": 3 }),
    ...middle, corner(), turned(corner()),
  ]);
}

export function spoken(card, words) {
  const [rank, suit] = card;
  return words.card.replace("{rank}", words[rank] ?? (rank === "T" ? "10" : rank)).replace("{suit}", words[suit]);
}
