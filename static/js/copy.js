// Copies data-copy="text", or the text (or value) of data-copy-from="#id", and says so on the button for two seconds.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (!button) return;
  const source = button.dataset.copyFrom ? document.querySelector(button.dataset.copyFrom) : null;
  const text = source ? source.value ?? source.innerText : button.dataset.copy;
  const done = await write(text);
  say(button, done ? "Copied" : "Press Ctrl+C");
  if (!done && source) select(source);
});

async function write(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No clipboard outside a secure context: the old way, through a selection.
    const area = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
    area.className = "sr";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function select(node) {
  if (node.select) return node.select();
  getSelection().selectAllChildren(node);
}

function say(button, word) {
  const label = button.querySelector("[data-copy-label]") || button;
  button.dataset.before ??= label.textContent;
  label.textContent = word;
  button.classList.add("is-copied");
  button.setAttribute("aria-live", "polite");
  clearTimeout(Number(button.dataset.timer));
  button.dataset.timer = setTimeout(() => {
    label.textContent = button.dataset.before;
    button.classList.remove("is-copied");
  }, 2000);
}
