// The learner's words and the list of points light each other: same data-point, by pointer and by keyboard.
for (const [on, off] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
  document.addEventListener(on, (event) => light(event.target, true));
  document.addEventListener(off, (event) => light(event.target, false));
}

function light(node, lit) {
  const part = node.closest?.(".verdict [data-point]");
  if (!part) return;
  const twins = part.closest(".verdict").querySelectorAll(`[data-point="${CSS.escape(part.dataset.point)}"]`);
  for (const twin of twins) twin.classList.toggle("is-lit", lit);
}

// The verdict arrives: it is spoken in the region that was there at load, and the focus goes to it
// unless the learner is writing somewhere.
document.addEventListener("htmx:afterSettle", announce);

// The assessment can be quicker than the page: then the verdict is there at load, right after the answer was sent.
const [visit] = performance.getEntriesByType("navigation");
if (visit?.type === "navigate" && /\/(questions|practice)\//.test(document.referrer)) announce();

// After a follow-up its own result is the news, and the address names it.
function announce() {
  const fresh = /^#followup-/.test(location.hash) ? location.hash.slice(1) : "score";
  const result = document.getElementById(fresh);
  const spoken = document.querySelector("#verdict-spoken");
  if (!result?.matches("[data-result]") || !spoken || spoken.dataset.said === fresh) return;
  spoken.dataset.said = fresh;
  spoken.textContent = `Assessed. ${result.innerText.replace(/\s+/g, " ")}`;
  if (!document.activeElement?.matches("input, textarea, select")) result.focus();
}
