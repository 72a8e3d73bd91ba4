// Now: how many are satisfied, what is used, how far from the best, how the input flows, each part.

import { chip, find, hashText, make, mark, meter } from "./dom.js";
import { bytes, number, percent, plural, seconds, span } from "./format.js";

const PARTS = {
  store: "Store", stream: "Stream", receiver: "Receiver", analyzer: "Analyzer", executor: "Executor",
};

export function showNow(status, rate) {
  const now = status.now, newest = status.newest;
  const isDry = status.mode === "dry-run";
  const shown = now ?? (newest && newest.state !== "failed" ? fromDecision(newest) : null);
  find("now-note").textContent = note(status, now, shown);
  find("tiles").replaceChildren(
    satisfied(shown, now, isDry, status), capacity(shown, status), gap(shown), input(status, rate));
}

function fromDecision(decision) {
  const facts = decision.facts;
  return facts.subscribers === undefined ? null : {
    window: decision.window, satisfied: facts.satisfied, subscribers: facts.subscribers,
    value: decision.value, bound: decision.bound, gap: decision.gap,
    used: facts.used, capacity: facts.capacity, served: facts.served, topics: facts.topics,
  };
}

function note(status, now, shown) {
  if (now) return `What is in force, on the window ${span(now.window)}`;
  if (!shown) return "";
  if (status.mode === "dry-run") return `The last decision, window ${span(shown.window)}; dry-run: nothing is applied`;
  return `Nothing is in force yet. These are numbers of the newest decision, window ${span(shown.window)}`;
}

function tile(title, figure, ...more) {
  return make("div", { class: "tile" }, make("h3", {}, title), make("p", { class: "figure" }, figure), more);
}

function satisfied(shown, now, isDry, status) {
  if (!shown) return tile("Satisfied", "–", make("p", { class: "small" }, whenFirst(status)));
  const share = shown.subscribers ? shown.satisfied / shown.subscribers : 1;
  const would = now || isDry ? "" : " would be";
  return tile("Satisfied", [number(shown.satisfied), make("small", {}, ` of ${number(shown.subscribers)}`)],
    meter(share, `${percent(share)} of all subscribers`),
    make("p", { class: "small" }, `${percent(share)} of subscribers${would} get what they need`));
}

export function whenFirst(status) {
  const { length, lateness } = status.windows;
  return status.input.last === null
    ? `No event has come yet. The first numbers come when the first window of ${seconds(length)} has closed.`
    : `The first window is open. It closes ${seconds(lateness)} of event time after its end; windows are ${seconds(length)} long.`;
}

function capacity(shown, status) {
  if (!shown) {
    const set = status.settings.capacity;
    return tile("Capacity used", "–", make("p", { class: "small" },
      `Capacity: ${typeof set === "string" ? `${set} of all traffic` : `${number(set)} deliveries a window`}`));
  }
  const share = shown.capacity > 0 ? shown.used / shown.capacity : 0;
  const over = share > 1 + 1e-9;
  return tile("Capacity used", [percent(share), over ? make("span", { class: "after" }, chip("bad", "over capacity")) : null],
    meter(share, `${percent(share)} of the capacity`),
    make("p", { class: "small" },
      `${number(shown.used)} of ${number(shown.capacity)} deliveries; ${number(shown.served)} of ${plural(shown.topics, "topic")} served`));
}

function gap(shown) {
  if (!shown || shown.gap === null) {
    const why = !shown ? "Known with the first decision."
      : shown.used > shown.capacity ? "What is in force takes more than there is." : "No bound is proven.";
    return tile("Certified gap", "–", make("p", { class: "small" }, why));
  }
  const more = Math.max(0, Math.floor((shown.bound ?? shown.value) - shown.value + 1e-9));
  return tile("Certified gap", percent(shown.gap), meter(1 - shown.gap, `${percent(1 - shown.gap)} of the proven bound`),
    make("p", { class: "small" }, shown.gap === 0
      ? "Proven best: no selection satisfies more"
      : `Proven: no selection satisfies more than ${plural(more, "other", "others")} on top`));
}

function input(status, rate) {
  const found = status.input;
  // Events of long ago that come now are a replay, and no lag.
  const isReplay = found.lag !== null && found.lag > 2 * status.windows.length && found.idle < 60;
  const isQuiet = found.idle > Math.max(60, status.windows.length);
  const figure = found.lag === null ? "–" : seconds(isReplay ? found.idle : found.lag);
  const age = isReplay ? `events of ${seconds(found.lag)} ago` : `last input ${seconds(found.idle)} ago`;
  return tile("Lag", [figure, isQuiet ? make("span", { class: "after" }, chip("warn", "quiet")) : null],
    make("p", { class: "small" }, `${age}; ${number(found.events)} events${rate === null ? "" : `, ${number(Math.round(rate))} a second now`}`),
    make("p", { class: "small" }, [
      `${number(found.late)} late · ${number(found.bad)} bad · ${bytes(found.backlog)} waiting · ${plural(found.subscriptions, "subscription")}`]));
}

export function showParts(status) {
  const rows = Object.entries(status.parts).map(([name, trouble]) => part(
    PARTS[name] ?? name, trouble ? "bad" : "good", trouble || "well"));
  const outputs = status.outputs.map((one) => output(one, status));
  const troubles = Object.values(status.parts).filter(Boolean).length
    + status.outputs.filter((one) => waitingFor(one, status)?.error).length;
  find("parts-note").replaceChildren(troubles
    ? chip("bad", plural(troubles, "thing needs", "things need") + " a look") : chip("good", "all well"));
  find("parts-body").replaceChildren(
    make("ul", { class: "parts" }, rows),
    make("h3", {}, "Outputs"),
    outputs.length ? make("ul", { class: "parts" }, outputs)
      : make("p", { class: "small" }, status.mode === "dry-run"
        ? "In mode dry-run no output is told anything." : "None are configured: nobody is told what is in force."),
    status.dead_letters ? make("p", { class: "small" }, chip("warn", plural(status.dead_letters, "delivery", "deliveries")), " given up; /api/v1/dead-letters lists why.") : "");
}

// What an output has yet to confirm, with the error of the last attempt.
function waitingFor(output, status) {
  return status.applying.flatMap((one) => one.waiting).find((one) => one.output === output.name);
}

function part(name, kind, text, more = null) {
  return make("li", {}, mark(kind), make("div", {}, make("b", {}, name), " ",
    make("span", { class: kind === "bad" ? "error" : "small" }, text), more));
}

function output(one, status) {
  const [kind, name] = split(one.name);
  const waiting = waitingFor(one, status);
  if (waiting?.error) return part(name, "bad", `attempt ${waiting.attempts} failed: ${waiting.error}`);
  const more = one.epoch === null ? null
    : make("div", { class: "small" }, `${kind}, epoch ${one.epoch}, `, one.hash ? hashText(one.hash, 8) : "nothing in force");
  if (waiting) return part(name, "wait", "is being told", more);
  if (!one.is_behind) return part(name, "good", status.in_force ? "follows what is in force" : "knows that nothing is in force", more);
  return part(name, one.epoch === null ? "wait" : "warn", one.epoch === null ? "was not told anything yet" : "does not surely know what is in force", more);
}

function split(name) {
  const place = name.indexOf(":");
  if (place < 0) return ["output", name];
  const rest = name.slice(place + 1);
  return [name.slice(0, place), rest.length > 34 ? `…${rest.slice(-33)}` : rest];
}
