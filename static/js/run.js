// A run, live: its event stream updates the words and appends tokens. Without event streams htmx polls the standing.
const LEVELS = [0.05, 0.2, 0.5, 0.8];
const streams = new Map();

function watch() {
  for (const box of document.querySelectorAll("[data-run-events]")) {
    if (!streams.has(box)) follow(box, box.dataset.runEvents, "");
  }
  for (const [box, source] of streams) {
    if (!box.isConnected) {
      source.close();
      streams.delete(box);
    }
  }
}

function follow(box, url, after) {
  const source = new EventSource(after ? `${url}?after=${after}` : url);
  let last = after;
  streams.set(box, source);
  source.addEventListener("state", (event) => show(box, JSON.parse(event.data)));
  source.addEventListener("started", (event) => {
    last = event.lastEventId;
    show(box, { state: "running", words: "for 0 s" });
  });
  source.addEventListener("tokens", (event) => append(box, JSON.parse(event.data).tokens));
  source.addEventListener("restart", () => box.querySelector("[data-run-tokens]")?.replaceChildren());
  for (const kind of ["prompt", "tokens", "progress", "restart"]) {
    source.addEventListener(kind, (event) => {
      last = event.lastEventId;
      tell(box, kind, JSON.parse(event.data));
    });
  }
  source.addEventListener("done", () => {
    source.close();
    htmx.trigger(document.body, "run-ended");
  });
  source.addEventListener("error", () => {
    // The browser reconnects by itself while it can, with Last-Event-ID; a refused stream is opened again here.
    if (source.readyState === EventSource.CLOSED && box.isConnected) {
      setTimeout(() => box.isConnected && follow(box, url, last), 2000);
    }
  });
}

// Other scripts hear of a run's events on its box: meters, progress.
function tell(box, kind, data) {
  box.dispatchEvent(new CustomEvent("run:event", { bubbles: true, detail: { kind, data } }));
}

function show(box, standing) {
  const status = box.matches(".status") ? box : box.querySelector(".status");
  if (!status) return;
  const shown = standing.state === "succeeded" ? "done" : standing.state;
  status.className = `status is-${shown}`;
  status.querySelector("[data-run-state]").textContent = standing.state;
  status.querySelector("[data-run-words]").textContent = standing.words;
}

function append(box, tokens) {
  const stream = box.querySelector("[data-run-tokens]");
  if (!stream) return;
  stream.append(...tokens.filter((token) => token.text).map(chip));
}

function chip(token) {
  const span = document.createElement("span");
  const probability = token.logprob === null ? null : Math.exp(token.logprob);
  const level = probability === null ? "" : `p${1 + LEVELS.filter((bound) => probability >= bound).length}`;
  span.className = `token plain t${(token.i % 6) + 1} ${level}`;
  span.tabIndex = token.i ? -1 : 0;
  span.dataset.id = token.id;
  if (probability !== null) span.dataset.p = probability.toFixed(3);
  for (const part of token.text.split(/(^ +|\n)/)) {
    if (!part) continue;
    if (part === "\n") span.append(mark("⏎"), "\n");
    else if (/^ +$/.test(part)) span.append(mark("·".repeat(part.length)));
    else span.append(part);
  }
  return span;
}

function mark(text) {
  return Object.assign(document.createElement("span"), { className: "space", textContent: text });
}

// Arrow keys walk through the tokens of a stream.
document.addEventListener("keydown", (event) => {
  const here = event.target.closest?.("[data-run-tokens] .token");
  if (!here) return;
  const all = here.parentElement.children;
  const ways = { ArrowRight: here.nextElementSibling, ArrowLeft: here.previousElementSibling, Home: all[0], End: all[all.length - 1] };
  if (!ways[event.key]) return;
  event.preventDefault();
  here.tabIndex = -1;
  ways[event.key].tabIndex = 0;
  ways[event.key].focus();
});

document.addEventListener("htmx:afterSettle", watch);
watch();
