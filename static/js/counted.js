// How far a run with many steps is, in the words of its page.
document.addEventListener("run:event", (event) => {
  const { kind, data } = event.detail;
  const place = event.target.querySelector("[data-run-counted]");
  if (kind === "progress" && place) place.textContent = `${data.done} of ${data.of} questions done.`;
});
