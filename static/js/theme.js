// Light, dark or the system's: kept in this browser. Loaded before the page is drawn, so that nothing flashes.
(() => {
  const root = document.documentElement;
  const read = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const keep = (value) => { try { localStorage.setItem("theme", value); } catch { /* private mode: this page only */ } };
  const show = (value) => {
    if (value === "light" || value === "dark") root.dataset.theme = value;
    else delete root.dataset.theme;
  };
  show(read());
  document.addEventListener("DOMContentLoaded", () => {
    const choice = document.querySelector("[data-theme-choice]");
    if (!choice) return;
    const now = choice.querySelector(`input[value="${root.dataset.theme || "system"}"]`);
    if (now) now.checked = true;
    choice.hidden = false;
    choice.addEventListener("change", (event) => { keep(event.target.value); show(event.target.value); });
  });
  window.addEventListener("storage", (event) => { if (event.key === "theme") show(event.newValue); });
})();
