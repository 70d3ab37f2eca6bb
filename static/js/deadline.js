// Time left until [data-ends], by the server's clock: shown each second, announced at five minutes and at one.
// Just before the end the page hands in what is written (the button [data-time-up]); the server would do the same.
const NOTICES = [[60, "Less than a minute left. What you have written is handed in by itself."], [300, "Five minutes left."]];
const EARLY = 3; // seconds, so that the last words arrive in time

for (const box of document.querySelectorAll("[data-ends]")) {
  const end = Date.parse(box.dataset.ends);
  const drift = Date.parse(box.dataset.now) - Date.now();
  const left = box.querySelector("[data-deadline-left]");
  const notice = box.querySelector("[data-deadline-notice]");
  let sent = false;

  const tick = () => {
    const seconds = Math.floor((end - Date.now() - drift) / 1000);
    if (seconds < 86400) left.textContent = ` · ${words(Math.max(0, seconds))} left`;
    const due = NOTICES.find(([at]) => seconds <= at);
    if (due && seconds > 0 && notice.textContent !== due[1]) notice.textContent = due[1];
    if (seconds <= EARLY && !sent) {
      sent = true;
      const button = document.querySelector("[data-time-up]");
      button?.form.requestSubmit(button);
    }
  };
  tick();
  setInterval(tick, 1000);
}

function words(seconds) {
  const part = (number) => String(number).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const rest = `${part(Math.floor((seconds % 3600) / 60))}:${part(seconds % 60)}`;
  return hours ? `${hours}:${rest}` : rest;
}
