// Uploads one request a file: drop or choose several, see each one's progress and its outcome; the list follows.
const form = document.querySelector("form[data-upload]");

if (form) {
  const input = form.querySelector("input[type=file]");
  const rows = form.querySelector("[data-upload-rows]");
  const most = Number(form.dataset.upload) * 1e6;

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    uploadAll([...input.files]);
    input.value = "";
  });
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
    form.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      form.classList.toggle("is-over", kind === "dragenter" || kind === "dragover");
      if (kind === "drop") uploadAll([...event.dataTransfer.files]);
    });
  }

  // One after the other: the order of the list is the order of the files, and one slow line is not shared by many.
  async function uploadAll(files) {
    rows.hidden = false;
    const waiting = files.map((file) => [file, addRow(file)]);
    for (const [file, row] of waiting) {
      await upload(file, row);
      htmx.trigger(document.body, "documents-changed");
    }
  }

  function addRow(file) {
    const row = document.createElement("li");
    const name = Object.assign(document.createElement("bdi"), { className: "title", textContent: file.name });
    const aside = Object.assign(document.createElement("span"), { className: "aside", textContent: "waiting" });
    row.append(name, aside);
    rows.append(row);
    return aside;
  }

  function upload(file, place) {
    if (file.size > most) {
      say(place, "refused", `It has ${(file.size / 1e6).toFixed(1)} MB; ${most / 1e6} MB is the limit. Split the file.`);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      const body = new FormData();
      body.append("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
      body.append("files", file);
      request.open("POST", form.action);
      request.setRequestHeader("HX-Request", "true");
      request.upload.addEventListener("progress", (event) => {
        if (event.lengthComputable) place.textContent = `${Math.round((100 * event.loaded) / event.total)} % sent`;
      });
      request.addEventListener("load", () => {
        if (request.status === 200) place.replaceChildren(...parsed(request.responseText));
        else say(place, "failed", `The server answered ${request.status}. The file is not lost: send it again.`);
        resolve();
      });
      request.addEventListener("error", () => {
        say(place, "failed", "The connection was lost. The file is not lost: send it again.");
        resolve();
      });
      request.send(body);
      place.textContent = "0 % sent";
    });
  }

  function parsed(fragment) {
    return new DOMParser().parseFromString(fragment, "text/html").body.childNodes;
  }

  function say(place, state, words) {
    const status = Object.assign(document.createElement("span"), { className: "status is-failed" });
    status.append(
      Object.assign(document.createElement("span"), { className: "state", textContent: state }),
      Object.assign(document.createElement("span"), { textContent: words }),
    );
    place.replaceChildren(status);
  }
}
