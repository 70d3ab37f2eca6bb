// Formulas, tables and code that are wider than the screen can be scrolled with the keyboard too.
const WIDE = ".formula, .math-block, .table-scroll, .matrix-scroll, pre";

function reach(node) {
  const wide = node.scrollWidth > node.clientWidth + 1;
  if (wide && !node.hasAttribute("tabindex")) { node.tabIndex = 0; node.dataset.scroller = ""; }
  if (!wide && "scroller" in node.dataset) { node.removeAttribute("tabindex"); delete node.dataset.scroller; }
}

const widths = new ResizeObserver((entries) => entries.forEach((entry) => reach(entry.target)));
const watch = (root) => root.querySelectorAll?.(WIDE).forEach((node) => widths.observe(node));
watch(document);
document.addEventListener("htmx:load", (event) => watch(event.target));
