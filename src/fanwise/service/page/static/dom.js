// Elements, made without ever reading text as HTML: names of topics are written by strangers.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((one) => one !== null && one !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const find = (id) => document.getElementById(id);

// Shapes beside colours: nobody has to tell red from green.
const MARKS = { good: "✓", wait: "◷", warn: "▲", bad: "✕", off: "○", on: "●" };

export function chip(kind, text, title) {
  return make("span", { class: `chip ${kind}`, title }, mark(kind), ` ${text}`);
}

export function mark(kind) {
  return make("span", { class: `mark ${kind}`, "aria-hidden": "true" }, MARKS[kind]);
}

// A table that scrolls by itself where it is wider than the page, also by keyboard.
export function table(label, columns, rows) {
  const head = make("tr", {}, columns.map((one) =>
    make("th", { scope: "col", class: one.number ? "number" : null }, one.name)));
  const body = rows.map((row) => make("tr", {}, row.map((cell, place) =>
    make("td", { class: columns[place].number ? "number" : columns[place].kind ?? null }, cell ?? ""))));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    make("table", {}, make("caption", { class: "unseen" }, label),
      make("thead", {}, head), make("tbody", {}, body)));
}

export function announce(text) {
  find("announcements").textContent = text;
}

export function hashText(hash, length = 12) {
  return make("code", { class: "hash", title: hash },
    make("b", {}, hash.slice(0, 6)), hash.slice(6, length), hash.length > length ? "…" : "");
}

export function meter(share, label, limit = 1) {
  const width = Math.max(0, Math.min(1, share / limit)) * 100;
  const bar = draw("svg", { class: "meter", viewBox: "0 0 100 6", preserveAspectRatio: "none",
    role: "img", "aria-label": label });
  bar.append(draw("rect", { class: "rest", x: 0, y: 0, width: 100, height: 6 }),
    draw("rect", { class: share > limit * (1 + 1e-9) ? "over" : "part", x: 0, y: 0, width, height: 6 }));
  return bar;
}
