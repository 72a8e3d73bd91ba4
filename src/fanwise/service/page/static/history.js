// Decisions that were made, newest first; those that were in force can be rolled back to.

import { ask } from "./asking.js";
import { confirmByHash } from "./confirming.js";
import { announce, chip, find, hashText, make, table } from "./dom.js";
import { moment, number, percent, span } from "./format.js";
import { tell } from "./pending.js";

const ROWS = 12;
const STATES = {
  pending: ["wait", "pending"], "in-force": ["good", "in force"], superseded: ["off", "superseded"],
  rejected: ["bad", "rejected"], failed: ["bad", "failed"],
};
let shown = "", rows = ROWS, last = null;

export async function showHistory(status, session, refresh) {
  last = [status, session, refresh];
  const key = [status.newest?.number, status.newest?.state, status.epoch, status.in_force?.hash, session.role,
    status.applying.length, rows, Object.values(status.decisions).join()].join();
  if (key === shown) return;
  shown = key;
  const body = find("history-body");
  if (!status.newest) {
    body.replaceChildren(make("p", { class: "empty" }, "No decision yet. Every window that closes adds one here."));
    return;
  }
  const found = await page(rows);
  const mayAct = (session.role === "approve" || session.role === "admin") && status.mode !== "dry-run";
  const columns = [{ name: "No.", number: true }, { name: "Window", kind: "name" }, { name: "State" }, { name: "Value", number: true },
    { name: "Gap", number: true }, { name: "Switches", number: true }, { name: "Hash" }, { name: "In force since" },
    ...(mayAct ? [{ name: "Roll back" }] : [])];
  body.replaceChildren(
    table("Decisions, newest first", columns, found.decisions.map((one) => [
      number(one.number), span(one.window), state(one), number(one.value), percent(one.gap), number(one.changes),
      hashText(one.hash, 8), one.in_force_at ? moment(one.in_force_at) : "never",
      ...(mayAct ? [back(one, refresh)] : [])])),
    found.cursor === null ? "" : make("button", { type: "button", class: "quiet", onclick: () => { rows += 24; showHistory(...last); } }, "Show older"));
  if (find("audit").open) await showAudit();
}

// As many decisions as are wanted, in as many pages as it takes.
async function page(many) {
  let decisions = [], cursor = null;
  do {
    const more = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const found = await ask(`/api/v1/decisions?limit=${Math.min(100, many - decisions.length)}${more}`);
    decisions = decisions.concat(found.decisions);
    cursor = found.cursor;
  } while (cursor !== null && decisions.length < many);
  return { decisions, cursor };
}

function state(decision) {
  const [kind, text] = STATES[decision.state] ?? ["off", decision.state];
  return chip(kind, text, decision.why || null);
}

function back(decision, refresh) {
  if (decision.in_force_at === null || decision.state === "in-force") return "";
  return make("button", { type: "button", class: "quiet", "aria-label": `Roll back to decision ${decision.number}`,
    onclick: () => confirmByHash({
      title: `Roll back to decision ${decision.number}?`, kind: "history",
      text: `Of the window ${span(decision.window)}, worth ${number(decision.value)} then. Its hash:`,
      hash: decision.hash, button: "Roll back",
      act: async (starts) => {
        const done = await ask(`/api/v1/decisions/${decision.hash}/rollback`, { method: "POST", body: { starts } });
        announce(tell(done));
        refresh();
      } }) }, "Roll back …");
}

export async function showAudit() {
  const place = find("audit-body");
  try {
    const found = await ask("/api/v1/audit?limit=40");
    const columns = [{ name: "When" }, { name: "Who", kind: "name" }, { name: "Did" }, { name: "To", kind: "name" }, { name: "Note", kind: "why" }];
    place.replaceChildren(found.entries.length
      ? table("Audit trail, newest first", columns, found.entries.map((one) => [
        moment(one.at), one.who, one.what, one.about.length === 64 ? hashText(one.about, 8) : one.about, one.note]))
      : make("p", { class: "small" }, "Nobody did anything yet."));
  } catch (error) {
    place.replaceChildren(make("p", { class: "error" }, error.message));
  }
}
