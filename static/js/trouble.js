// A request that failed says so at the top of the page; what was typed stays where it is.
// Parts that can do without an answer say data-quiet.
const REASONS = {
  403: "This page has been open too long, or you are signed out. Copy what you typed, reload the page and send it again.",
  404: "That is no longer here, or it belongs to somebody else.",
  413: "That is too large to send. Shorten it and send it again.",
  429: "Too many requests from here. Wait a minute and send it again; what you typed is kept.",
  503: "The service is busy or restarting. What you typed is kept; send it again in a moment.",
};

document.addEventListener("htmx:responseError", (event) => {
  if (event.detail.elt.closest("[data-quiet]")) return;
  const status = event.detail.xhr.status;
  tell(REASONS[status] || `The server answered with an error (${status}). What you typed is kept; try again.`);
});
document.addEventListener("htmx:sendError", () => {
  tell("The server could not be reached. What you typed is kept; check your connection and try again.");
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) document.querySelector("#trouble")?.remove();
});

function tell(text) {
  const old = document.querySelector("#trouble");
  const list = old || Object.assign(document.createElement("ul"), { id: "trouble", className: "messages" });
  const item = Object.assign(document.createElement("li"), { className: "notice is-error", textContent: text });
  list.replaceChildren(item);
  if (!old) document.querySelector("#messages").append(list);
}
