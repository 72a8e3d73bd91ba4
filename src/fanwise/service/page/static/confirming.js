// The one dialog in which something is put in force or refused: the hash is shown, and typed.

import { find, make } from "./dom.js";

let finish = null;

export function setUpConfirming() {
  const dialog = find("confirm");
  find("confirm-cancel").addEventListener("click", () => dialog.close());
  // The event comes a moment after the dialog is closed: it may be open again, with another answer.
  dialog.addEventListener("close", () => { if (!dialog.open) finish = null; });
  find("confirm-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!finish) return;
    const button = find("confirm-do"), error = find("confirm-error");
    error.textContent = "";
    button.disabled = true;
    try {
      await finish();
      dialog.close();
    } catch (problem) {
      error.textContent = problem.message;
      find("confirm-fields").querySelector("input, textarea")?.focus();
    } finally {
      button.disabled = false;
    }
  });
}

// Notes that a newer decision came while the dialog is open; it stays, and says so.
export function noteNewer(hash) {
  const dialog = find("confirm");
  if (dialog.open && dialog.dataset.kind === "pending" && dialog.dataset.hash !== hash) {
    find("confirm-error").textContent = "Meanwhile a newer decision came: close this and look at it.";
  }
}

export function confirmByHash({ title, text, hash, button, kind, act }) {
  const input = make("input", { id: "starts", name: "starts", autocomplete: "off", autocapitalize: "off",
    spellcheck: "false", maxlength: "64", "aria-describedby": "confirm-error", required: true });
  open(title, text, hash, button, kind, [
    make("label", { for: "starts" }, "Type the first 6 characters of the hash"), input]);
  finish = async () => {
    const typed = input.value.trim().toLowerCase();
    input.removeAttribute("aria-invalid");
    if (typed.length < 6 || !hash.startsWith(typed)) {
      input.setAttribute("aria-invalid", "true");
      throw new Error(typed.length < 6 ? "Six characters at least." : "These are not the first characters of this hash.");
    }
    await act(typed);
  };
  input.focus();
}

export function confirmWithReason({ title, text, hash, button, kind, act }) {
  const input = make("textarea", { id: "why", name: "why", rows: "2", maxlength: "1000", "aria-describedby": "confirm-error" });
  open(title, text, hash, button, kind, [
    make("label", { for: "why" }, "Why (kept in the audit trail)"), input]);
  finish = () => act(input.value.trim());
  input.focus();
}

function open(title, text, hash, button, kind, fields) {
  const dialog = find("confirm");
  find("confirm-title").textContent = title;
  find("confirm-text").textContent = text;
  find("confirm-hash").replaceChildren(make("b", {}, hash.slice(0, 6)), hash.slice(6));
  find("confirm-fields").replaceChildren(...fields);
  find("confirm-error").textContent = "";
  find("confirm-do").textContent = button;
  dialog.dataset.hash = hash;
  dialog.dataset.kind = kind;
  dialog.showModal();
}
