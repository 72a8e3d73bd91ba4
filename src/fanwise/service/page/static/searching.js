// Search for a topic or a subscriber: why it is where it is, and what would change that.

import { ask, named, onlyNewest } from "./asking.js";
import { announce, chip, find, make, table } from "./dom.js";
import { number, percent, plural, signed } from "./format.js";

let session = { role: null }, input = null, list = null, active = -1, timer = null;

export function setUpSearch() {
  input = make("input", { id: "query", type: "search", role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list",
    "aria-controls": "found", autocomplete: "off", spellcheck: "false", maxlength: "4096", placeholder: "Part of a name" });
  list = make("ul", { id: "found", role: "listbox", "aria-label": "Topics and subscribers found", hidden: true });
  find("search-body").replaceChildren(
    make("label", { for: "query" }, "Topic or subscriber"), make("div", { class: "combo" }, input, list),
    make("div", { id: "result", "aria-live": "polite" }));
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(suggest, 180); });
  input.addEventListener("keydown", onKey);
  input.addEventListener("blur", () => setTimeout(close, 150));
}

export function knowPerson(found) {
  session = found;
}

const suggest = onlyNewest(async (isNewest) => {
  const text = input.value.trim();
  if (!text) { close(); return; }
  try {
    const found = await ask(`/api/v1/search?limit=8&text=${encodeURIComponent(text)}`);
    if (!isNewest()) return;
    const options = [...found.topics.map((name) => ["topic", name]), ...found.subscribers.map((name) => ["subscriber", name])];
    active = -1;
    list.replaceChildren(...options.map(([kind, name], place) => make("li", { role: "option", id: `option-${place}`, "aria-selected": "false",
      onmousedown: (event) => { event.preventDefault(); choose(kind, name); } },
    make("span", { class: "kind" }, kind), " ", make("span", { class: "name" }, name))));
    [...list.children].forEach((option, place) => { option.choice = options[place]; });
    if (!options.length) list.replaceChildren(make("li", { class: "small", role: "option", "aria-disabled": "true", "aria-selected": "false" }, "No name in the last window contains this."));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    announce(`${plural(found.topics.length, "topic")}, ${plural(found.subscribers.length, "subscriber")} found.`);
  } catch (error) {
    if (isNewest()) find("result").replaceChildren(make("p", { class: error.status === 409 ? "empty" : "error" }, error.message));
  }
});

function close() {
  list.hidden = true;
  input.setAttribute("aria-expanded", "false");
  input.removeAttribute("aria-activedescendant");
}

function onKey(event) {
  const options = [...list.children].filter((one) => one.choice);
  if (event.key === "Escape") { close(); return; }
  if (event.key === "Enter") {
    event.preventDefault();
    const chosen = options[active] ?? options[0];
    if (chosen) choose(...chosen.choice);
    return;
  }
  if (!options.length || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
  event.preventDefault();
  active = (active + (event.key === "ArrowDown" ? 1 : -1) + options.length) % options.length;
  options.forEach((one, place) => one.setAttribute("aria-selected", String(place === active)));
  input.setAttribute("aria-activedescendant", options[active].id);
  options[active].scrollIntoView({ block: "nearest" });
}

async function choose(kind, name) {
  close();
  input.value = name;
  const place = find("result");
  try {
    if (kind === "topic") place.replaceChildren(...topic(await ask(`/api/v1/topics/${named(name)}`)));
    else place.replaceChildren(...subscriber(await ask(`/api/v1/subscribers/${named(name)}`)));
  } catch (error) {
    place.replaceChildren(make("p", { class: "error" }, error.message));
  }
}

const whereIs = (isServed) => (isServed ? chip("on", "served") : chip("off", "offloaded"));

function topic(found) {
  const facts = found.facts;
  const isSame = found.served === found.in_force;
  return [
    make("h3", { class: "name" }, found.topic),
    make("p", {}, whereIs(found.in_force), " now", isSame ? "" : make("span", {}, "; in the newest decision ", whereIs(found.served)), pinned(found)),
    make("p", {}, make("b", {}, "Why: "), `${found.why}.`),
    takes(found),
    make("dl", { class: "facts" },
      pair("Events", number(facts.rate)), pair("Followers", `${number(facts.followers)}, ${number(facts.unsatisfied_followers)} unsatisfied`),
      pair("Cost", `${number(facts.cost)} (${percent(facts.share_of_capacity)} of capacity)`),
      pair(facts.served ? "Without it" : "With it", `${signed(facts.served ? -facts.subscribers : facts.subscribers)} satisfied`),
      pair("Rank by worth", `${number(facts.rank)} of ${number(facts.offloaded)} offloaded`)),
    fixing(found),
  ].filter(Boolean);
}

const pair = (name, value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));

function pinned(found) {
  if (found.pinned === null) return "";
  return make("span", {}, "; ", chip("warn", found.pinned === "pin" ? "pinned by hand: always served" : "excluded by hand: never served"));
}

function takes(found) {
  const need = found.takes;
  if (!need) return null;
  if (need.more === 0) return make("p", {}, make("b", {}, "To serve it: "), `it fits into what is left, ${signed(need.subscribers)} satisfied.`);
  const more = `${number(need.more)} more capacity`;
  if (!need.is_possible) return make("p", {}, make("b", {}, "To serve it: "), `${more}; it alone takes more than there is room for.`);
  const rest = need.dropped - need.names.length;
  return make("p", {}, make("b", {}, "To serve it: "), `${more}, or ${plural(need.dropped, "topic")} less: `,
    need.names.flatMap((name, place) => [place ? ", " : "", make("span", { class: "name" }, name)]), rest > 0 ? ` and ${number(rest)} more` : "",
    `. That exchange changes satisfied subscribers by ${signed(need.subscribers)}.`);
}

function fixing(found) {
  if (session.role !== "admin") return null;
  const put = (kind, told) => async () => {
    try {
      if (kind === null) await ask(`/api/v1/pins/${named(found.topic)}`, { method: "DELETE" });
      else await ask(`/api/v1/pins/${named(found.topic)}`, { method: "PUT", body: { kind } });
      announce(told);
      await choose("topic", found.topic);
    } catch (error) {
      find("result").append(make("p", { class: "error", role: "alert" }, error.message));
    }
  };
  return make("div", { class: "buttons" },
    found.pinned === "pin" ? null : make("button", { type: "button", class: "quiet", onclick: put("pin", "Served from the next decision on.") }, "Always serve"),
    found.pinned === "exclude" ? null : make("button", { type: "button", class: "quiet", onclick: put("exclude", "Offloaded from the next decision on.") }, "Never serve"),
    found.pinned === null ? null : make("button", { type: "button", class: "quiet", onclick: put(null, "Left to the numbers.") }, "Leave it to the numbers"));
}

function subscriber(found) {
  const state = found.satisfied ? chip("good", "satisfied") : chip("warn", "not satisfied");
  const need = found.satisfied ? null : found.takes_cost === null
    ? make("p", {}, "All its topics together would not satisfy it in this window.")
    : make("p", {}, make("b", {}, "To satisfy it: "), "serve ",
      found.takes.slice(0, 5).flatMap((name, place) => [place ? ", " : "", make("span", { class: "name" }, name)]),
      found.takes.length > 5 ? ` and ${number(found.takes.length - 5)} more` : "", `, for ${number(found.takes_cost)} deliveries.`);
  const columns = [{ name: "Topic", kind: "name" }, { name: "Events", number: true }, { name: "Cost", number: true }, { name: "Is" }];
  return [
    make("h3", { class: "name" }, found.subscriber),
    make("p", {}, state, ` in the newest decision: gets ${number(found.gets)} of ${number(found.needs)} events.`),
    need,
    table(`Topics of ${found.subscriber}`, columns, found.topics.slice(0, 100).map((row) => [
      row.topic, number(row.events), number(row.cost), whereIs(row.served)])),
    found.topics.length > 100 ? make("p", { class: "small" }, `and ${number(found.topics.length - 100)} more`) : null,
  ].filter(Boolean);
}
