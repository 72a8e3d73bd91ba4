// Value and bound, capacity, switches: decision by decision.

import { ask } from "./asking.js";
import { Chart, legend, load, localTime } from "./charts.js";
import { find, make, table } from "./dom.js";
import { moment, number, plural } from "./format.js";

const NULL = NaN;
const VALUE = [
  { name: "Value of the decision", field: "value", color: "series-a", width: 2.5 },
  { name: "Bound", field: "bound", color: "series-b", dash: [6, 4] },
  { name: "Of what was in force", field: "held", color: "series-c", kind: "dots", marker: "diamond", size: 8 },
];
const CAPACITY = [
  { name: "Used by the decision", field: "used", color: "series-a", width: 2.5 },
  { name: "Capacity", field: "capacity", color: "series-b", dash: [6, 4] },
  { name: "Needed by what was in force", field: "needed", color: "series-c", kind: "dots", marker: "diamond", size: 8 },
];
const SWITCHES = [{ name: "Topics switched", field: "changes", color: "series-d", kind: "bars" }];
let charts = null, shown = "";

export async function showOverTime(status) {
  const limit = Number(find("range").value);
  const key = [status.newest?.number, limit].join();
  if (key === shown) return;
  shown = key;
  const body = find("over-time-body");
  if (!status.newest) {
    charts = null;
    body.replaceChildren(make("p", { class: "empty" }, "Curves begin with the first decision."));
    return;
  }
  const library = load();
  library.catch(() => {}); // said below
  const found = await ask(`/api/v1/series?limit=${limit}`);
  try {
    await library;
  } catch (error) {
    body.replaceChildren(make("p", { class: "error" }, error.message), data(found));
    return;
  }
  if (!charts) charts = setUp(body);
  const x = found.end.map(localTime);
  const width = spacing(x) * 0.8;
  const whole = {
    x, value: found.value, bound: known(found.bound), held: known(found.in_force),
    used: known(found.used), needed: known(found.in_force_used), capacity: known(found.capacity), changes: found.changes, width: x.map(() => width),
  };
  const count = found.value.length;
  charts.figures.forEach((figure, place) => figure.setAttribute("aria-label", describe(place, found, count)));
  find("over-time-data").replaceChildren(data(found));
  await Promise.all(charts.list.map((chart) => chart.set(whole)));
}

const known = (values) => values.map((one) => one ?? NULL);

function spacing(x) {
  let least = 3600e3;
  for (let place = 1; place < x.length; place += 1) least = Math.min(least, x[place] - x[place - 1] || least);
  return least;
}

function setUp(body) {
  const figures = [], list = [];
  const add = (title, series, height, more = {}) => {
    const place = make("div", { class: "chart" });
    const figure = make("div", { role: "img" }, place);
    figures.push(figure);
    list.push(new Chart(place, { series, height, label: null, ...more }));
    return make("figure", {}, make("figcaption", {}, make("b", {}, title), legend(series)), figure);
  };
  body.replaceChildren(
    add("Value and proven bound", VALUE, 220),
    make("div", { class: "pair" }, add("Capacity, deliveries a window", CAPACITY, 160), add("Switches", SWITCHES, 160)),
    make("details", {}, make("summary", {}, "The same as a table"), make("div", { id: "over-time-data" })));
  return { figures, list };
}

function describe(place, found, count) {
  const last = count - 1, over = `over ${plural(count, "decision")}, until ${moment(found.end[last])}`;
  if (place === 0) return `Value ${over}: last ${number(found.value[last])}, bound ${number(found.bound[last])}, between ${number(Math.min(...found.value))} and ${number(Math.max(...found.value))}.`;
  if (place === 1) return `Capacity ${over}: last ${number(found.used[last])} used of ${number(found.capacity[last])}.`;
  return `Switches ${over}: last ${number(found.changes[last])}, at most ${number(Math.max(...found.changes))}.`;
}

function data(found) {
  const columns = [{ name: "Window until" }, { name: "Value", number: true }, { name: "Bound", number: true },
    { name: "In force before", number: true }, { name: "Used", number: true }, { name: "Capacity", number: true }, { name: "Switches", number: true }];
  const rows = found.value.map((value, place) => [moment(found.end[place]), number(value), number(found.bound[place]),
    number(found.in_force[place]), number(found.used[place]), number(found.capacity[place]), number(found.changes[place])]);
  return table("Decisions over time, the newest 100", columns, rows.reverse().slice(0, 100));
}
