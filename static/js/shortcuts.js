// data-shortcut="/" focuses a field or presses a button by one key; data-submit-keys sends a form with Ctrl or Cmd and Enter.
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    const form = event.target.closest("[data-submit-keys]")?.form;
    if (form) { event.preventDefault(); form.requestSubmit(); }
    return;
  }
  if (event.key === "Escape" && event.target.matches("[data-shortcut]")) return event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
  const target = document.querySelector(`[data-shortcut="${CSS.escape(event.key)}"]`);
  if (!target) return;
  event.preventDefault();
  if (target.matches("input, textarea, select")) { target.focus(); target.select?.(); } else target.click();
});

function typing(node) {
  return node.isContentEditable || node.matches("input:not([type=checkbox], [type=radio], [type=range]), textarea, select");
}
