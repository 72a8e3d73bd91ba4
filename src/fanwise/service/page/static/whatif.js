// The what-if curve: value against capacity for a tau, and one answer solved with its bound.

import { askPatiently, onlyNewest } from "./asking.js";
import { Chart, legend, load } from "./charts.js";
import { announce, find, make } from "./dom.js";
import { number, percent, plural, signed, span } from "./format.js";

const CURVE = [
  { name: "Value, by a quick method", field: "value", color: "series-a", width: 2.5 },
  { name: "Proven bound", field: "bound", color: "series-b", dash: [6, 4] },
];
const WAIT = 350;
let parts = null, timer = null, shown = "", everything = 0, current = null, isSeen = false;

export function showWhatIf(status) {
  current = status;
  if (!status.newest || status.newest.facts.everything === undefined) {
    if (!parts) find("what-if-body").replaceChildren(make("p", { class: "empty" }, "Questions can be asked when the first window has closed."));
    return;
  }
  if (!parts) parts = setUp(status);
  // Curves cost the service some work: only for whoever looks.
  const key = `${status.newest.number}`;
  if (key === shown || !isSeen) return;
  shown = key;
  everything = status.newest.facts.everything;
  if (parts.isPlain) reset();
  later(false);
}

function whenSeen(element) {
  new IntersectionObserver((entries) => {
    isSeen = entries.some((one) => one.isIntersecting);
    if (isSeen) showWhatIf(current);
  }).observe(element);
}

function setUp(status) {
  const tau = make("input", { id: "tau", type: "range", min: "-100", max: "100", step: "1", value: "0" });
  const capacity = make("input", { id: "capacity", type: "range", min: "0", max: "100", step: "0.5", value: "50" });
  const tauText = make("output", { for: "tau", id: "tau-text" }), capacityText = make("output", { for: "capacity", id: "capacity-text" });
  const answer = make("div", { id: "what-if-answer", class: "answer", role: "status" });
  const place = make("div", { class: "chart" });
  const figure = make("div", { role: "img", "aria-label": "Value against capacity" }, place);
  const made = { tau, capacity, tauText, capacityText, answer, figure, isPlain: true, base: status.settings.tau,
    chart: new Chart(place, { series: CURVE, height: 210, isTime: false, span: true, xLabel: "Capacity, deliveries a window" }) };
  for (const slider of [tau, capacity]) slider.addEventListener("input", () => { made.isPlain = false; say(made); later(true); });
  const asSet = make("button", { type: "button", class: "quiet", onclick: () => { made.isPlain = true; reset(); later(true); } }, "As configured");
  whenSeen(find("what-if-body"));
  find("what-if-body").replaceChildren(
    make("div", { class: "sliders" },
      make("div", {}, make("label", { for: "tau" }, "Tau, events that satisfy"), tau, tauText),
      make("div", {}, make("label", { for: "capacity" }, "Capacity, of all traffic"), capacity, capacityText),
      asSet),
    answer,
    make("figure", {}, make("figcaption", {}, make("b", {}, "Satisfied against capacity"), legend(CURVE)), figure));
  return made;
}

// From a tenth to ten times the configured tau, in even ratios.
function chosenTau() {
  const exact = parts.base * 10 ** (Number(parts.tau.value) / 100);
  return Number(parts.tau.value) === 0 ? parts.base : Number(exact.toPrecision(exact < 10 ? 2 : 3));
}

const chosenCapacity = () => (parts.isPlain ? configured() : (Number(parts.capacity.value) / 100) * everything);

function configured() {
  return current.newest.facts.capacity;
}

function reset() {
  parts.tau.value = "0";
  parts.capacity.value = String(everything ? (configured() / everything) * 100 : 0);
  say(parts);
}

function say() {
  const capacity = chosenCapacity();
  parts.tauText.value = number(chosenTau());
  parts.capacityText.value = `${number(capacity)} (${percent(everything ? capacity / everything : 0)})`;
  parts.tau.setAttribute("aria-valuetext", number(chosenTau()));
  parts.capacity.setAttribute("aria-valuetext", parts.capacityText.value);
}

function later(byHand) {
  clearTimeout(timer);
  timer = setTimeout(() => refresh(byHand), byHand ? WAIT : WAIT * 2);
}

const refresh = onlyNewest(async (isNewest, byHand) => {
  say(parts);
  const tau = chosenTau(), capacity = chosenCapacity();
  parts.answer.replaceChildren(make("p", { class: "small" }, parts.isPlain ? "Reading …" : "Solving …"));
  try {
    const curve = await askPatiently("/api/v1/what-if/curve", { method: "POST", body: { tau } });
    if (!isNewest()) return;
    everything = curve.everything;
    await draw(curve, capacity);
    if (!isNewest()) return;
    if (parts.isPlain) { asDecided(); return; }
    const found = await askPatiently("/api/v1/what-if", { method: "POST", body: { tau, capacity } });
    if (!isNewest()) return;
    const now = current.now?.satisfied ?? null;
    parts.answer.replaceChildren(
      make("p", {}, make("b", { class: "big" }, number(found.value)),
        ` ${found.metric === "binary" ? "satisfied" : "in total"}, at most ${number(found.bound)} (gap ${percent(found.gap)})`,
        now === null || found.metric !== "binary" ? "" : ` · ${signed(found.value - now)} against now`),
      make("p", { class: "small" }, `${plural(found.served, "topic")} served, ${plural(found.changes, "switch", "switches")} from now; `
        + `window ${span(found.window)}, solved in ${number(found.seconds)} s`));
    if (byHand) announce(`With tau ${number(tau)} and capacity ${number(capacity)}: ${number(found.value)}.`);
  } catch (error) {
    if (isNewest()) parts.answer.replaceChildren(make("p", { class: "error" }, error.message));
  }
});

// As configured the answer is known: it is the newest decision.
function asDecided() {
  const { value, bound, gap, facts, window } = current.newest;
  parts.answer.replaceChildren(
    make("p", {}, make("b", { class: "big" }, number(value)),
      ` ${facts.metric === "binary" ? "satisfied" : "in total"}, at most ${number(bound)} (gap ${percent(gap)})`),
    make("p", { class: "small" }, `As configured: the newest decision, window ${span(window)}. Move a slider to ask another question.`));
}

async function draw(curve, capacity) {
  const points = curve.points;
  parts.figure.setAttribute("aria-label", `Value against capacity for tau ${number(curve.tau)}: `
    + points.filter((_, place) => place % 4 === 0).map((one) => `${number(one.capacity)} gives ${number(one.value)}`).join(", "));
  await load();
  await parts.chart.set({
    x: points.map((one) => one.capacity), value: points.map((one) => one.value), bound: points.map((one) => one.bound ?? NaN),
  }, capacity);
}
