// The page: who is there, what the service says, again and again.

import { ask, Refused, signIn, signOut, whoAmI } from "./asking.js";
import { fetchEarly, redrawAll } from "./charts.js";
import { setUpConfirming } from "./confirming.js";
import { announce, chip, find, make } from "./dom.js";
import { clock } from "./format.js";
import { showAudit, showHistory } from "./history.js";
import { showNetwork } from "./network.js";
import { showNow, showParts } from "./now.js";
import { showOverTime } from "./overtime.js";
import { showPending } from "./pending.js";
import { knowPerson, setUpSearch } from "./searching.js";
import { showWhatIf } from "./whatif.js";

const OFTEN = 2000, SELDOM = 15000, LONGEST = 30000;
const MODES = { "dry-run": "dry-run: nothing is applied", approve: "a person approves", auto: "applied within guardrails" };
let session = { role: null, name: "" }, status = null, timer = null, wait = OFTEN, heard = null, counted = null, isAsking = false;

async function begin() {
  fetchEarly();
  setUpConfirming();
  setUpSearch();
  setUpTheme();
  find("sign-in-form").addEventListener("submit", onSignIn);
  find("sign-out").addEventListener("click", onSignOut);
  find("sign-in-button").addEventListener("click", () => showDoor());
  find("range").addEventListener("change", () => status && guard(showOverTime(status)));
  find("audit").addEventListener("toggle", () => find("audit").open && showAudit());
  document.addEventListener("visibilitychange", () => !document.hidden && tick());
  addEventListener("hashchange", async () => (await useLink()) && enter());
  await useLink();
  await enter();
}

// A link that signs in once: the code is behind the #, so it is in no log of any server.
async function useLink() {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return false;
  history.replaceState(null, "", "/");
  try { await signIn({ code }); } catch (error) { find("sign-in-error").textContent = error.message; }
  return true;
}

async function enter() {
  try {
    session = await whoAmI();
  } catch (error) {
    if (error instanceof Refused && error.status === 401) { showDoor(); return; }
    setLive(false);
    timer = setTimeout(enter, wait = Math.min(LONGEST, wait * 2));
    return;
  }
  wait = OFTEN;
  knowPerson(session);
  find("sign-in").hidden = true;
  find("page").hidden = false;
  find("sections").hidden = false;
  find("person").textContent = session.role ? `${session.name} (${session.role})` : "";
  find("sign-out").hidden = !session.role;
  find("sign-in-button").hidden = Boolean(session.role);
  await tick();
}

function showDoor() {
  clearTimeout(timer);
  find("page").hidden = true;
  find("sections").hidden = true;
  find("sign-in").hidden = false;
  find("sign-out").hidden = true;
  find("sign-in-button").hidden = true;
  find("person").textContent = "";
  for (const id of ["live", "mode"]) find(id).hidden = true;
  find("confirm").close();
  find("token").focus();
}

async function onSignIn(event) {
  event.preventDefault();
  const input = find("token"), error = find("sign-in-error");
  error.textContent = "";
  try {
    await signIn({ token: input.value.trim() });
    input.value = "";
    await enter();
    find("content").focus();
  } catch (problem) {
    error.textContent = problem.message;
    input.focus();
  }
}

async function onSignOut() {
  try { await signOut(); } catch { /* it is over in any case */ }
  session = { role: null, name: "" };
  announce("You are signed out.");
  try { session = await whoAmI(); await enter(); } catch { showDoor(); }
}

async function tick() {
  clearTimeout(timer);
  if (isAsking || find("page").hidden) return;
  isAsking = true;
  try {
    const found = await ask("/api/v1/status");
    wait = OFTEN;
    update(found);
    setLive(true);
  } catch (error) {
    if (error instanceof Refused && error.status === 401) { showDoor(); return; }
    wait = Math.min(LONGEST, error instanceof Refused && error.wait ? error.wait * 1000 : wait * 1.7);
    setLive(false);
  } finally {
    isAsking = false;
    if (!find("page").hidden) timer = setTimeout(tick, document.hidden ? Math.max(wait, SELDOM) : wait);
  }
}

function update(found) {
  status = found;
  const now = performance.now();
  let rate = null;
  if (counted && now > counted.at) rate = Math.max(0, ((found.input.events - counted.events) / (now - counted.at)) * 1000);
  if (!counted || now - counted.at > 6000) counted = { at: now, events: found.input.events };
  showNow(found, rate);
  showParts(found);
  find("mode").hidden = false;
  find("mode").replaceChildren(MODES[found.mode] ?? found.mode);
  find("version").textContent = `fanwise ${found.version}`;
  document.title = found.pending && found.mode === "approve" ? "● fanwise: a decision waits" : "fanwise";
  ready("numbers");
  guard(showPending(found, session, tick));
  guard(showHistory(found, session, tick));
  // The chart library comes after the first numbers are on the screen.
  requestAnimationFrame(() => setTimeout(() => {
    guard(showNetwork(found));
    guard(showOverTime(found).then(() => { ready("charts"); showWhatIf(found); }));
  }));
}

// Marks how far the page has come, and when it first did.
function ready(what) {
  if (!performance.getEntriesByName(what).length) performance.mark(what);
  if (what === "charts" || !document.documentElement.dataset.ready) document.documentElement.dataset.ready = what;
}

// What goes wrong in one section is not the end of the others: the next round tries again.
function guard(promise) {
  promise.catch((error) => {
    if (error instanceof Refused && error.status === 401) showDoor();
    else console.warn(error);
  });
}

function setLive(isLive) {
  const place = find("live");
  if (isLive) heard = new Date();
  place.hidden = false;
  const kind = isLive ? "good" : "warn";
  if (place.dataset.kind === kind) return;
  if (place.dataset.kind) announce(isLive ? "The service answers again." : "The service does not answer; trying again.");
  place.dataset.kind = kind;
  place.className = `chip ${kind}`;
  place.replaceChildren(...chip(kind, isLive ? "live" : `no answer${heard ? ` since ${clock(heard)}` : ""}, trying again`).childNodes);
}

function setUpTheme() {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const button = find("theme");
  const say = () => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("fanwise-theme", root.dataset.theme); } catch { /* for this time only */ }
    say();
    redrawAll();
  });
  system.addEventListener("change", () => { say(); redrawAll(); });
  say();
}

begin();
