// A run's progress: a bar, and real numbers in words.
document.addEventListener("run:event", ({ target, detail }) => {
  const box = target.querySelector?.("[data-progress]");
  if (!box) return;
  const bar = box.querySelector("progress");
  const words = box.querySelector("[data-progress-words]");
  if (detail.kind === "restart") {
    bar.value = 0;
    words.textContent = "starting again";
  }
  if (detail.kind === "progress") {
    bar.max = detail.data.total;
    bar.value = detail.data.done;
    words.textContent = detail.data.words;
  }
});
