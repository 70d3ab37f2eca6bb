// Shows a slider's value, in thin groups of three, in the <output for="…"> that belongs to it.
const grouped = (text) => text.replace(/\B(?=(\d{3})+(?!\d))/g, (gap, _, at) => (text.slice(0, at).includes(".") ? gap : "\u202f"));

function show(range) {
  const output = document.querySelector(`output[for~="${CSS.escape(range.id)}"]`);
  if (output) output.textContent = grouped(range.value);
}

for (const range of document.querySelectorAll('input[type="range"]')) show(range);
document.addEventListener("input", (event) => {
  if (event.target.matches('input[type="range"]')) show(event.target);
});
