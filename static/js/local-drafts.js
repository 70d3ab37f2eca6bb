// What this browser keeps of answers being written, for a week: draft.js writes it and asks for it, by this plain name
// (without a hash it is cached for a minute only, so that an old one is not mixed with a new draft.js for long).
const WEEK = 7 * 86400e3;

// The answer has arrived: its local copy is no longer needed. A page that still asks for it hasn't got it.
export function forget() {
  try {
    const asked = [...document.querySelectorAll("form[data-draft]")].map(keyOf);
    if (asked.includes(sessionStorage.getItem("draft-submitted"))) return;
    localStorage.removeItem(sessionStorage.getItem("draft-submitted"));
    sessionStorage.removeItem("draft-submitted");
  } catch {
    // Storage is off: there is nothing to forget.
  }
}

// An account's texts have a place of their own: nobody else who uses this browser is shown them.
export function keyOf(form) {
  return form.dataset.by ? `draft:${form.dataset.by}:${form.dataset.draft}` : `draft:${form.dataset.draft}`;
}

// What this browser kept last: of the account, or of the guest who has signed in since.
export function kept(form) {
  const found = [read(keyOf(form)), read(`draft:${form.dataset.draft}`)].filter((one) => one?.at > Date.now() - WEEK);
  return found.sort((one, other) => other.at - one.at)[0];
}

// Did an account leave a text here that the server never got? It is for that account's eyes only.
export function waits(form) {
  try {
    const theirs = Object.keys(localStorage).filter((key) => /^draft:\d+:/.test(key) && key.endsWith(`:${form.dataset.draft}`));
    return theirs.map(read).some((one) => one && !one.saved && one.at > Date.now() - WEEK);
  } catch {
    return false;
  }
}

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

export function write(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Private mode or a full store: the server's copy is the only one then.
  }
}
