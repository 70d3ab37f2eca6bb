// data-kept="name": what is typed there stays in this browser until it was sent and its page is gone.
const SENT = "kept-sent";

for (const area of document.querySelectorAll("[data-kept]")) {
  const key = `kept:${area.dataset.kept}`;
  if (!area.value.trim()) area.value = read(localStorage, key) || "";
  area.addEventListener("input", () => write(localStorage, key, area.value));
  area.form?.addEventListener("submit", () => write(sessionStorage, SENT, key));
}

const sent = read(sessionStorage, SENT);
if (sent && ![...document.querySelectorAll("[data-kept]")].some((area) => `kept:${area.dataset.kept}` === sent)) {
  localStorage.removeItem(sent);
  sessionStorage.removeItem(SENT);
}

function read(store, key) {
  try {
    return store.getItem(key);
  } catch {
    return null;
  }
}

function write(store, key, value) {
  try {
    store.setItem(key, value);
  } catch {
    // Private mode or a full store: the text is in the page only.
  }
}
