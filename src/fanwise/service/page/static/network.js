// The offload network: brokers and bridges, as wide as what they carry.

import { ask } from "./asking.js";
import { draw, find, make, table } from "./dom.js";
import { number, plural } from "./format.js";

const WIDTH = 720, HEIGHT = 480, MARGIN = 48, MOST_DRAWN = 150;
let shown = "";

export async function showNetwork(status) {
  const key = `${status.newest?.number}`;
  if (key === shown) return;
  shown = key;
  const body = find("network-body"), note = find("network-note");
  let found;
  try {
    found = await ask("/api/v1/network");
  } catch (error) {
    note.textContent = "";
    body.replaceChildren(make("p", { class: "error" }, error.message));
    return;
  }
  if (!found.configured) {
    note.textContent = "";
    body.replaceChildren(
      make("p", { class: "empty" }, "No network is configured. To have it drawn here, write it and say where it is:"),
      make("pre", { tabindex: "0" }, "fanwise export PLAN --workload DIR --mosquitto offload/\n\n# fanwise.toml\n[server]\nnetwork = \"offload\""));
    return;
  }
  note.textContent = `${plural(found.num_nodes, "broker")}, ${plural(found.num_links, "link")}`;
  const columns = [{ name: "From", kind: "name" }, { name: "To", kind: "name" }, { name: "Topics", number: true }, { name: "Events a window", number: true }];
  const rows = [...found.links].sort((a, b) => (b.events ?? 0) - (a.events ?? 0)).slice(0, 200)
    .map((link) => [link.source, link.target, number(link.topics), number(link.events)]);
  const isOpen = find("network-links")?.open ?? false;
  body.replaceChildren(
    found.nodes.length <= MOST_DRAWN ? picture(found) : make("p", { class: "empty" }, `More than ${MOST_DRAWN} brokers are too many to draw; the busiest links are listed.`),
    make("p", { class: "small key-line" }, make("span", { class: "square", "aria-hidden": "true" }), " messages enter here   ",
      make("span", { class: "round", "aria-hidden": "true" }), " passes them on   wider lines carry more events"),
    make("details", { id: "network-links", open: isOpen || found.nodes.length > MOST_DRAWN }, make("summary", {}, "Links by load"), table("Links of the offload network by load", columns, rows)));
}

function picture(found) {
  const places = arrange(found.nodes.map((one) => one.name), found.links);
  const heaviest = Math.max(1, ...found.links.map((one) => one.events ?? one.topics));
  const busiest = [...found.links].sort((a, b) => (b.events ?? 0) - (a.events ?? 0))[0];
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "graph", role: "img", "aria-label":
    `${plural(found.num_nodes, "broker")} and ${plural(found.num_links, "link")}${busiest ? `; the busiest link, ${busiest.source} to ${busiest.target}, carries ${number(busiest.events)} events a window` : ""}` });
  for (const link of found.links) {
    const from = places.get(link.source), to = places.get(link.target);
    if (!from || !to) continue;
    const load = link.events ?? link.topics;
    const line = draw("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: "link", "stroke-width": 1 + 7 * Math.sqrt(load / heaviest) });
    line.append(told(`${link.source} – ${link.target}: ${plural(link.topics, "topic")}, ${number(link.events)} events`));
    svg.append(line);
    if (found.links.length <= 40 && Math.hypot(from.x - to.x, from.y - to.y) > 70) {
      const label = draw("text", { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 - 4, class: "load" });
      label.textContent = number(load);
      svg.append(label);
    }
  }
  for (const node of found.nodes) {
    const at = places.get(node.name);
    const shape = node.entries > 0
      ? draw("rect", { x: at.x - 9, y: at.y - 9, width: 18, height: 18, rx: 3, class: "node enters" })
      : draw("circle", { cx: at.x, cy: at.y, r: 9, class: "node" });
    shape.append(told(`${node.name} at ${node.address || "?"}: ${plural(node.links, "link")}, ${plural(node.entries, "topic")} enter here`));
    const label = draw("text", { x: at.x, y: at.y + 24, class: "label" });
    label.textContent = node.name.length > 18 ? `${node.name.slice(0, 17)}…` : node.name;
    svg.append(shape, label);
  }
  return svg;
}

function told(text) {
  const title = draw("title");
  title.textContent = text;
  return title;
}

// Springs along links, all others pushed apart; from a circle, so that the picture is always the same.
function arrange(names, links) {
  const count = names.length, index = new Map(names.map((name, place) => [name, place]));
  const x = names.map((_, place) => Math.cos((2 * Math.PI * place) / count)), y = names.map((_, place) => Math.sin((2 * Math.PI * place) / count));
  const pairs = links.map((one) => [index.get(one.source), index.get(one.target)]).filter(([a, b]) => a !== undefined && b !== undefined && a !== b);
  const ideal = 1.6 / Math.sqrt(Math.max(1, count));
  for (let round = 0; round < 300; round += 1) {
    const dx = new Float64Array(count), dy = new Float64Array(count), heat = 0.12 * (1 - round / 300);
    for (let a = 0; a < count; a += 1) {
      for (let b = a + 1; b < count; b += 1) {
        const px = x[a] - x[b], py = y[a] - y[b], force = (ideal * ideal) / Math.max(1e-4, px * px + py * py);
        dx[a] += px * force; dy[a] += py * force; dx[b] -= px * force; dy[b] -= py * force;
      }
    }
    for (const [a, b] of pairs) {
      const px = x[a] - x[b], py = y[a] - y[b], force = Math.hypot(px, py) / ideal;
      dx[a] -= px * force; dy[a] -= py * force; dx[b] += px * force; dy[b] += py * force;
    }
    for (let a = 0; a < count; a += 1) {
      const far = Math.hypot(dx[a], dy[a]) || 1;
      x[a] += (dx[a] / far) * Math.min(far, heat); y[a] += (dy[a] / far) * Math.min(far, heat);
    }
  }
  const scale = (values, size) => {
    const low = Math.min(...values), high = Math.max(...values);
    return values.map((one) => (high > low ? MARGIN + ((one - low) / (high - low)) * (size - 2 * MARGIN) : size / 2));
  };
  const wide = scale(x, WIDTH), tall = scale(y, HEIGHT);
  return new Map(names.map((name, place) => [name, { x: wide[place], y: tall[place] }]));
}
