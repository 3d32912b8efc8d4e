"use strict";
// Pages work without this script; with it files can be dropped and progress is seen while it happens.
const upload = document.getElementById("upload");
if (upload) {
  const input = upload.querySelector("input[type=file]");
  const drop = upload.querySelector(".drop");
  const show = () => {
    const items = Array.from(input.files, (file) => {
      const item = document.createElement("li");
      item.textContent = `${file.name} (${Math.ceil(file.size / 1000)} kB)`;
      return item;
    });
    document.getElementById("chosen").replaceChildren(...items);
  };
  input.addEventListener("change", show);
  for (const kind of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop") {
        input.files = event.dataTransfer.files;
        show();
      }
    });
  }
}

const job = document.getElementById("job");
if (job && Number(job.dataset.busy)) {
  const words = job.dataset;
  const left = (seconds) =>
    seconds === null ? "" : seconds < 90 ? `${words.left} ${Math.ceil(seconds)} ${words.seconds}`
      : `${words.left} ${Math.ceil(seconds / 60)} ${words.minutes}`;
  const states = new Map(Array.from(document.querySelectorAll("#files tbody tr"), (row) => [row.id, row.dataset.state]));
  const look = async () => {
    const answer = await fetch(`/v1/jobs/${job.dataset.job}`).catch(() => null); // the service may be starting again
    if (!answer?.ok) return;
    const now = await answer.json();
    const ended = now.total - now.busy;
    document.getElementById("bar").max = now.total;
    document.getElementById("bar").value = ended;
    document.getElementById("count").textContent = `${ended} / ${now.total}`;
    document.getElementById("left").textContent =
      left(now.seconds_left) + (now.ahead ? ` · ${words.ahead} ${now.ahead}` : "");
    const changed = now.files.some((file) => states.get(`file-${file.id}`) !== file.state);
    if (!now.busy) location.reload();
    else if (changed) await renew();
  };
  // the rows come from the server, so that they are written in one place
  const renew = async () => {
    const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
    document.querySelector("#files tbody").replaceWith(page.querySelector("#files tbody"));
    for (const row of document.querySelectorAll("#files tbody tr")) states.set(row.id, row.dataset.state);
  };
  const again = async () => {
    await look().catch(() => null);
    setTimeout(again, 700); // after the answer, so that a slow service is not asked faster than it answers
  };
  again();
}
