// The decision that waits: what it switches and why, what that does to subscribers, yes or no.

import { ask } from "./asking.js";
import { confirmByHash, confirmWithReason, noteNewer } from "./confirming.js";
import { announce, chip, find, hashText, make, table } from "./dom.js";
import { number, percent, plural, seconds, sentence, signed, span } from "./format.js";
import { whenFirst } from "./now.js";

const ROWS = 50;
let shown = "";

export async function showPending(status, session, refresh) {
  const decision = status.pending, applying = status.applying.find((one) => one.kind !== "restate");
  const key = [decision?.hash, decision?.why, applying?.epoch, session.role, status.mode, status.in_force?.hash,
    decision ? "" : status.newest?.number, status.input.last === null].join();
  if (key === shown) return;
  const isNew = decision && !shown.startsWith(decision.hash);
  shown = key;
  noteNewer(decision?.hash ?? "");
  const note = find("pending-note"), body = find("pending-body");
  if (!decision) {
    note.textContent = "";
    body.replaceChildren(...nothing(status, applying));
    return;
  }
  if (isNew) announce(`Decision ${decision.number} waits: ${plural(decision.changes, "switch", "switches")}.`);
  note.replaceChildren(applying ? chip("wait", "being applied") : chip("wait", status.mode === "auto" ? "waits for the guardrails" : "waits for you"));
  const changes = make("div", { id: "changes" }, make("p", { class: "small" }, "Reading what it switches …"));
  body.replaceChildren(summary(decision), ...actions(decision, status, session, applying, refresh), changes);
  await list(decision, changes, 0);
}

function nothing(status, applying) {
  if (applying) {
    return [make("p", {}, chip("wait", "being applied"), " ", applying.hash ? hashText(applying.hash) : "nothing",
      ` by ${applying.who}; outputs are being told.`)];
  }
  if (!status.newest) return [make("p", { class: "empty" }, whenFirst(status), " A decision comes with it, and waits here.")];
  const last = status.newest;
  const told = last.state === "in-force" ? "is in force" : last.state === "rejected" ? "was rejected"
    : last.state === "failed" ? "failed" : `is ${last.state}`;
  return [
    make("p", { class: "empty" }, "Nothing waits for you."),
    make("p", { class: "small" }, `Decision ${last.number}, of the window ${span(last.window)}, ${told}`,
      last.why ? `: ${last.why}` : "", `. The next comes when the next window has closed; windows come every ${seconds(status.windows.slide)}.`),
  ];
}

function fact(name, ...value) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value));
}

function summary(decision) {
  const facts = decision.facts, effect = facts.effect;
  const on = facts.switched_on ?? 0;
  return make("div", {},
    make("p", { class: "lead" }, make("b", {}, `Decision ${decision.number}`), ` · window ${span(decision.window)} · `,
      hashText(decision.hash, 16)),
    effect ? make("div", { class: "effect" },
      make("div", { class: "gain" }, make("b", {}, `▲ ${number(effect.gain)}`), " become satisfied"),
      make("div", { class: "lose" }, make("b", {}, `▼ ${number(effect.lose)}`), " no longer are"),
      make("div", {}, make("b", {}, signed(effect.gain - effect.lose)), ` in all, ${number(facts.satisfied)} of ${number(facts.subscribers)}`)) : null,
    make("dl", { class: "facts" },
      fact("Value", number(decision.value)),
      fact("Bound", number(decision.bound)),
      fact("Gap", percent(decision.gap)),
      fact("Capacity", facts.capacity ? `${percent(facts.used / facts.capacity)} used` : "–"),
      fact("Switches", `${number(on)} on, ${number(decision.changes - on)} off`),
      facts.price?.cost !== undefined ? fact("Machines", `$${number(facts.price.cost)} a window`) : null),
    decision.why ? make("p", { class: "small" }, sentence(decision.why)) : null);
}

function actions(decision, status, session, applying, refresh) {
  if (applying) return [];
  const mayAct = session.role === "approve" || session.role === "admin";
  if (status.mode === "dry-run") return [make("p", { class: "small" }, "Mode dry-run: nothing is applied.")];
  if (!mayAct) {
    return [make("p", { class: "small" }, session.role
      ? "Your role may look; approving needs a token with the role approve." : "Sign in to approve or reject it.")];
  }
  const { hash } = decision;
  const effect = decision.facts.effect;
  const text = `${plural(decision.changes, "topic is", "topics are")} switched${effect ? `; ${number(effect.gain)} subscribers become satisfied, ${number(effect.lose)} no longer are` : ""}. Its hash:`;
  return [make("div", { class: "buttons" },
    make("button", { type: "button", class: "main", onclick: () => confirmByHash({
      title: `Approve decision ${decision.number}?`, text, hash, button: "Approve", kind: "pending",
      act: async (starts) => {
        const done = await ask(`/api/v1/decisions/${hash}/approve`, { method: "POST", body: { starts } });
        announce(tell(done));
        refresh();
      } }) }, "Approve …"),
    make("button", { type: "button", onclick: () => confirmWithReason({
      title: `Reject decision ${decision.number}?`, text: "What is in force stays. Its hash:", hash, button: "Reject", kind: "pending",
      act: async (why) => {
        await ask(`/api/v1/decisions/${hash}/reject`, { method: "POST", body: { why } });
        announce(`Decision ${decision.number} is rejected.`);
        refresh();
      } }) }, "Reject …"))];
}

export function tell(done) {
  if (done.state === "done") return `Decision ${done.decision.number} is in force.`;
  if (done.state === "open") return `Decision ${done.decision.number} is being applied.`;
  return `Decision ${done.decision.number}: ${done.state}. ${done.why}`;
}

async function list(decision, place, offset, before = []) {
  let found;
  try {
    found = await ask(`/api/v1/decisions/${decision.hash}/diff?limit=${ROWS}&offset=${offset}`);
  } catch (error) {
    place.replaceChildren(make("p", { class: "error" }, error.message));
    return;
  }
  const rows = [...before, ...found.changes];
  if (!rows.length) {
    place.replaceChildren(make("p", { class: "small" }, "It switches nothing."));
    return;
  }
  const columns = [{ name: "Topic", kind: "name" }, { name: "From now on" }, { name: "Cost", number: true },
    { name: "Followers", number: true }, { name: "Why", kind: "why" }];
  place.replaceChildren(
    table(`What decision ${decision.number} switches`, columns, rows.map((row) => [
      row.topic, row.served ? chip("on", "served") : chip("off", "offloaded"),
      number(row.cost), number(row.followers), row.reason])),
    found.next === null ? "" : make("button", { type: "button", class: "quiet",
      onclick: () => list(decision, place, found.next, rows) },
    `Show more (${number(rows.length)} of ${number(decision.changes)})`));
}
