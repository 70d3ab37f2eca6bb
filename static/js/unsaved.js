// A long form that was changed asks before its page is left; sending it asks nothing. data-focus takes the focus once.
for (const form of document.querySelectorAll("form[data-unsaved]")) {
  let changed = false;
  form.addEventListener("input", () => { changed = true; });
  form.addEventListener("submit", () => { changed = false; });
  window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
}
document.querySelector("[data-focus]")?.focus();
