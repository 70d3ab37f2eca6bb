// An answer being written: kept in this browser at once, on the server soon after. No keystroke is lost.
// Revisions only grow; the server refuses an older one (409), and "saved" is shown for the newest text only.
const IDLE = 1200;

for (const form of document.querySelectorAll("form[data-draft]")) start(form);
if (document.querySelector("[data-attempt]")) forget();

// The answer has arrived: its local copy is no longer needed. A page that still asks for it hasn't got it.
function forget() {
  try {
    const asked = [...document.querySelectorAll("form[data-draft]")].map((form) => `draft:${form.dataset.draft}`);
    if (asked.includes(sessionStorage.getItem("draft-submitted"))) return;
    localStorage.removeItem(sessionStorage.getItem("draft-submitted"));
    sessionStorage.removeItem("draft-submitted");
  } catch {
    // Storage is off: there is nothing to forget.
  }
}

function start(form) {
  const area = form.querySelector("[data-draft-text]");
  const find = (name) => form.querySelector(`[data-draft-${name}]`);
  const key = `draft:${form.dataset.draft}`;
  const state = {
    revision: Number(form.dataset.revision),
    elapsed: Number(form.dataset.elapsed),
    saved: area.value,
    saving: false,
    timer: 0,
    conflict: null,
    done: false,
  };

  const local = read(key);
  if (local && !("keep" in form.dataset) && local.text !== area.value && local.at > Date.now() - 7 * 86400e3) {
    // Text that never reached the server (offline, signed out) wins over an older stored draft.
    if (!area.value.trim() || local.revision > state.revision) area.value = local.text;
  }
  count();
  if (area.value !== state.saved) later();

  area.addEventListener("input", () => {
    write(key, { text: area.value, revision: state.revision + 1, at: Date.now() });
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
    if (find("seen")) find("seen").value = state.revision + (state.saving ? 1 : 0);
    clearTimeout(state.timer);
    // Kept until the answer's page has opened: a submission that fails loses nothing.
    write(key, { text: area.value, revision: state.revision + 1, at: Date.now() });
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

  function later() {
    clearTimeout(state.timer);
    state.timer = setTimeout(() => save(false), IDLE);
  }

  async function save(leaving) {
    if (state.saving && !leaving) return later();
    if (state.conflict !== null || state.done) return;
    const text = area.value;
    const revision = state.revision + 1;
    const body = new FormData();
    body.set("text", text);
    body.set("revision", revision);
    body.set("elapsed_seconds", Math.round(state.elapsed));
    body.set("csrfmiddlewaretoken", form.querySelector("[name=csrfmiddlewaretoken]").value);
    state.saving = true;
    try {
      const answer = await fetch(form.dataset.draftUrl, { method: "POST", body, keepalive: leaving && text.length < 10000 });
      if (answer.ok) accept(text, revision, await answer.json());
      else if (answer.status === 409) clash(await answer.json());
      else if (answer.status === 422) say((await answer.json()).message || "can't be saved as it is; kept in this browser");
      else say("not saved on the server; kept in this browser");
    } catch {
      say("offline; kept in this browser");
      state.timer = setTimeout(() => save(false), 5000);
    } finally {
      state.saving = false;
    }
  }

  function accept(text, revision, answer) {
    state.revision = Math.max(revision, answer.revision);
    state.saved = text;
    if (area.value === text) {
      say(`saved ${new Date().toTimeString().slice(0, 5)}`);
      find("words").textContent = `${answer.words} words`;
    } else later();
  }

  function clash(answer) {
    if (answer.text === area.value) {
      state.revision = answer.revision;
      return;
    }
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

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Private mode or a full store: the server's copy is the only one then.
  }
}
