// An answer being written: kept in this browser at once, on the server soon after. No keystroke is lost.
// Revisions only grow; the server refuses an older one (409), and "saved" is shown for the newest text only.
import { forget, kept, keyOf, waits, write } from "./local-drafts.js";
const IDLE = 1200;
const AGAIN = 5000; // until the next try when the server could not take a text; doubled each time up to SLOWEST
const SLOWEST = 60_000;

for (const form of document.querySelectorAll("form[data-draft]")) start(form);
if (document.querySelector("[data-attempt]")) forget();

function start(form) {
  const area = form.querySelector("[data-draft-text]");
  const find = (name) => form.querySelector(`[data-draft-${name}]`);
  const key = keyOf(form);
  const state = {
    revision: Number(form.dataset.revision),
    newest: Number(form.dataset.revision), // the last revision sent, answered or not
    accepted: 0,
    sent: new Map(),
    elapsed: Number(form.dataset.elapsed),
    saved: area.value,
    saving: 0,
    wait: AGAIN,
    timer: 0,
    conflict: null,
    done: false,
  };

  pickUp();
  count();
  if (area.value !== state.saved) later();

  area.addEventListener("input", () => {
    state.done = false; // whoever stops a page that doesn't come and writes on, submits again
    write(key, { text: area.value, revision: state.newest + 1, at: Date.now() });
    say("not saved yet");
    count();
    later();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    if (state.done) event.preventDefault();
    state.done = true;
    find("elapsed").value = Math.round(state.elapsed);
    // What this page has seen: a newer text from another window is then not overwritten by the button.
    find("seen").value = state.saving ? state.newest : state.revision;
    clearTimeout(state.timer);
    // Kept until the answer's page has opened: a submission that fails loses nothing.
    write(key, { text: area.value, revision: state.newest + 1, at: Date.now() });
    sessionStorage.setItem("draft-submitted", key);
  });
  window.addEventListener("pageshow", () => { state.done = false; });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && area.value !== state.saved && !state.done) save(true);
  });
  for (const button of form.querySelectorAll("[data-draft-take]")) {
    button.addEventListener("click", () => settle(button.dataset.draftTake));
  }
  setInterval(() => {
    if (!document.hidden && area.value.trim()) state.elapsed += 1;
    const seconds = Math.round(state.elapsed);
    find("clock").textContent = seconds ? `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}` : "";
    find("elapsed").value = seconds;
  }, 1000);

  function later(wait = IDLE) {
    clearTimeout(state.timer);
    state.timer = setTimeout(() => save(false), wait);
  }

  // Text that never reached the server (offline, signed out) wins over an older stored draft; beside a newer one
  // from elsewhere the learner decides. What an account's draft had reached the server with is the server's.
  function pickUp() {
    const local = kept(form);
    if (!local && !form.dataset.by && waits(form)) say("what was typed here while signed in comes back after signing in");
    if (!local || "keep" in form.dataset || local.text === area.value) return;
    if (local.saved && form.dataset.by) return;
    if (area.value.trim() && local.revision <= state.revision) {
      if (local.saved) return;
      ask({ text: area.value, revision: state.revision });
    }
    area.value = local.text;
  }

  async function save(leaving) {
    if (state.saving && !leaving) return later();
    if (state.conflict !== null || state.done) return;
    const text = area.value;
    const revision = (state.newest = Math.max(state.newest, state.revision) + 1);
    state.sent.set(revision, text).delete(revision - 5);
    const body = new FormData();
    body.set("text", text);
    body.set("revision", revision);
    body.set("elapsed_seconds", Math.round(state.elapsed));
    body.set("csrfmiddlewaretoken", form.querySelector("[name=csrfmiddlewaretoken]").value);
    state.saving += 1;
    try {
      const answer = await fetch(form.dataset.draftUrl, { method: "POST", body, keepalive: leaving && text.length < 10000 });
      if (answer.ok) accept(text, revision, await answer.json());
      else if (answer.status === 409) clash(await answer.json());
      else if (answer.status === 422) say((await answer.json()).message || "can't be saved as it is; kept in this browser");
      else again("not saved on the server; kept in this browser");
    } catch {
      again("offline; kept in this browser");
    } finally {
      state.saving -= 1;
    }
  }

  function again(words) {
    say(words);
    later(state.wait);
    state.wait = Math.min(2 * state.wait, SLOWEST);
  }

  function accept(text, revision, answer) {
    state.wait = AGAIN;
    if (revision < state.accepted) return; // an older reply that comes late says nothing of the newest text
    state.accepted = revision;
    state.revision = Math.max(state.revision, revision, answer.revision);
    state.saved = text;
    if (area.value !== text) return later();
    write(key, { text, revision: state.revision, at: Date.now(), saved: true });
    say(`saved ${new Date().toTimeString().slice(0, 5)}`);
    find("words").textContent = `${answer.words} words`;
  }

  function clash(answer) {
    // A later save of this very page was there first: that is no other window.
    if (state.sent.get(answer.revision) !== answer.text) return ask(answer);
    state.revision = Math.max(state.revision, answer.revision);
    if (area.value !== answer.text) later();
  }

  function ask(answer) {
    state.conflict = answer;
    find("conflict").hidden = false;
    say("changed in another window");
  }

  function settle(which) {
    state.revision = state.conflict.revision;
    if (which === "theirs") area.value = state.conflict.text;
    state.conflict = null;
    find("conflict").hidden = true;
    count();
    save(false);
  }

  function count() {
    const words = area.value.split(/[\s\u200b-\u200f\u2028-\u202e\u2060-\u2064\u00ad\ufeff]+/).filter(Boolean).length;
    find("words").textContent = `${words} words`;
  }

  function say(text) {
    find("status").textContent = text;
  }
}
