// An interview session: the clock warns and takes nothing away, the next step comes when the assessment is done,
// and the focus starts at the step's heading.
document.querySelector("[data-session] [data-step]")?.focus({ preventScroll: true });
if (document.querySelector("[data-run-events]")) document.body.addEventListener("run-ended", () => location.reload());

const timer = document.querySelector("[data-deadline]");
if (timer) {
  const deadline = Date.parse(timer.dataset.deadline);
  const whole = Number(timer.dataset.minutes) * 60;
  const notice = document.querySelector("[data-timer-notice]");
  const warned = new Set();
  const tick = () => {
    const left = Math.round((deadline - Date.now()) / 1000);
    timer.querySelector("[data-timer]").textContent = `${left < 0 ? "over by " : ""}${clock(Math.abs(left))}`;
    timer.classList.toggle("is-low", left <= whole / 5);
    if (left <= 0) warn("over", "Time is up. Finish your thought: nothing is taken away, and the report shows how much over you were.");
    else if (left <= whole / 5) warn("low", `${clock(left)} left for this question.`);
  };
  const warn = (name, text) => {
    if (warned.has(name)) return;
    warned.add(name);
    notice.hidden = false;
    notice.querySelector("p").textContent = text;
    document.querySelector("[data-timer-said]").textContent = text;
  };
  tick();
  setInterval(tick, 1000);
}

function clock(seconds) {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
