// Live meters of a generation: tokens of the window, bytes of KV cache, tokens a second.
const grouped = (number) => String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const counts = new WeakMap();

document.addEventListener("run:event", ({ target, detail }) => {
  const meters = target.querySelector?.("[data-meters]");
  if (!meters) return;
  if (detail.kind === "restart") counts.delete(target);
  if (detail.kind === "prompt") counts.set(target, { ...detail.data, made: 0, since: 0 });
  if (detail.kind === "tokens") count(target, detail.data.tokens.length);
  show(meters, counts.get(target));
});

function count(box, more) {
  const now = counts.get(box);
  if (!now) return;
  now.since ||= performance.now();
  now.made += more;
}

function show(meters, now) {
  if (!now) return;
  const used = now.tokens + now.made;
  const say = (name, text) => { meters.querySelector(`[data-meter="${name}"]`).textContent = text; };
  // A remote model tells neither its window nor its cache.
  say("window", now.window ? `${grouped(used)} of ${grouped(now.window)} tokens` : `${grouped(used)} tokens`);
  say("kv", now.window ? `${grouped(used * now.kv_bytes_per_token)} bytes` : "–");
  const seconds = (performance.now() - now.since) / 1000;
  if (now.since && seconds > 0.2) say("speed", `${(now.made / seconds).toFixed(1)} tokens/s`);
  const bar = meters.querySelector("[data-meter-bar]");
  bar.max = now.window || used;
  bar.value = used;
}

// A chosen token is marked where it stands; what stood beside it is fetched by its link.
document.addEventListener("click", (event) => {
  const chip = event.target.closest?.("[data-run-tokens] a.token");
  if (!chip) return;
  for (const other of chip.parentElement.querySelectorAll(".is-picked")) {
    other.classList.remove("is-picked");
    other.removeAttribute("aria-current");
  }
  chip.classList.add("is-picked");
  chip.setAttribute("aria-current", "true");
});
