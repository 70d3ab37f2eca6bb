// data-kept="name": what is typed there stays in this browser until it was sent and its page is gone.
const SENT = "kept-sent";

document.addEventListener("input", (event) => {
  if (event.target.matches?.("[data-kept]")) write(localStorage, keyOf(event.target), event.target.value);
});
document.addEventListener("submit", (event) => {
  const area = event.target.querySelector("[data-kept]");
  if (area) write(sessionStorage, SENT, keyOf(area));
});
document.addEventListener("htmx:afterSettle", restore);
restore();
forget();

// Parts of a page that come later hold such fields too.
function restore() {
  for (const area of document.querySelectorAll("[data-kept]")) {
    if (!area.value.trim()) area.value = read(localStorage, keyOf(area)) || "";
  }
}

function forget() {
  const sent = read(sessionStorage, SENT);
  if (!sent || [...document.querySelectorAll("[data-kept]")].some((area) => keyOf(area) === sent)) return;
  localStorage.removeItem(sent);
  sessionStorage.removeItem(SENT);
}

function keyOf(area) {
  return `kept:${area.dataset.kept}`;
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
