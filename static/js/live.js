// Live calculators: sliders that move their number, errors marked on their inputs, the canonical link in the bar.
const form = document.querySelector("form[data-live]");

if (form) {
  const result = document.getElementById("result");
  if (result.dataset.canonical && location.pathname.startsWith("/calculators/")) {
    history.replaceState(history.state, "", result.dataset.canonical);
  }
  for (const slider of form.querySelectorAll("[data-slides]")) slide(slider);
  document.addEventListener("htmx:oobAfterSwap", (event) => mark(event.detail.target));
  document.addEventListener("htmx:afterSettle", () => form.querySelectorAll(".error").forEach(mark));
}

// A slider runs over powers, so that 1 000 and 1 000 000 are both in reach.
function slide(slider) {
  const input = document.getElementById(slider.dataset.slides);
  const low = Math.max(1, Number(slider.dataset.low));
  const high = Number(slider.dataset.high);
  const span = Math.log(high / low);
  const place = () => {
    const value = Number(input.value.replace(/[\s_,]/g, ""));
    if (value > 0) slider.value = Math.round((1000 * Math.log(value / low)) / span);
    slider.setAttribute("aria-valuetext", input.value);
  };
  slider.hidden = false;
  place();
  slider.addEventListener("input", () => {
    input.value = rounded(low * Math.exp((span * slider.value) / 1000));
    slider.setAttribute("aria-valuetext", input.value);
  });
  input.addEventListener("input", place);
}

// Two figures are enough for a hand on a slider.
function rounded(value) {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.max(1, Math.round(value / power) * power);
}

function mark(error) {
  if (!error?.id?.endsWith("-e")) return;
  const input = document.getElementById(error.id.slice(0, -2));
  if (error.hidden) input?.removeAttribute("aria-invalid");
  else input?.setAttribute("aria-invalid", "true");
}
