"use strict";
// Pages work without this script; with it files can be dropped and progress is seen while it happens.
const upload = document.getElementById("upload");
if (upload) {
  const input = upload.querySelector("input[type=file]");
  const { files, file, job } = input.dataset; // how many, and how many bytes of one and of all together
  const drop = upload.querySelector(".drop");
  const show = () => {
    const items = Array.from(input.files, (file) => {
      const item = document.createElement("li");
      item.textContent = `${file.name} (${Math.ceil(file.size / 1000)} kB)`;
      return item;
    });
    document.getElementById("chosen").replaceChildren(...items);
    const sizes = Array.from(input.files, (one) => one.size);
    const fits = sizes.length <= files && Math.max(0, ...sizes) <= file && sizes.reduce((a, b) => a + b, 0) <= job;
    // what is too large is not sent at all: a server that stops listening looks like one that is broken
    input.setCustomValidity(fits ? "" : document.getElementById("limits").textContent);
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
  const written = (states) => JSON.stringify(Object.entries(states).sort());
  let states = written(JSON.parse(words.states));
  const look = async () => {
    const answer = await fetch(`/v1/jobs/${job.dataset.job}?files=false`).catch(() => null); // the service may be starting again
    if ([401, 404].includes(answer?.status)) location.reload(); // signed out, or deleted: the page says so
    if (!answer?.ok) return;
    const now = await answer.json();
    const ended = now.busy ? now.total - now.busy : now.done + now.failed;
    document.getElementById("bar").max = now.total;
    document.getElementById("bar").value = ended;
    document.getElementById("count").textContent = `${ended} / ${now.total}`;
    document.getElementById("left").textContent =
      now.busy ? left(now.seconds_left) + (now.ahead ? ` · ${words.ahead} ${now.ahead}` : "") : "";
    if (states !== written(now.states) || !now.busy) await renew();
    states = written(now.states);
    if (!now.busy) document.getElementById("cancel")?.remove();
    if (!now.busy) job.dataset.busy = "0";
  };
  // these parts come from the server, so that they are written in one place; what is being filled in stays
  const renew = async () => {
    const answer = await fetch(location.href);
    if (!answer.ok) throw new Error("not yet");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of ["#files tbody", "#outcome"]) {
      const [old, made] = [document.querySelector(part), page.querySelector(part)];
      if (!old.isEqualNode(made)) old.replaceWith(made); // what has the focus is not replaced without need
    }
    document.getElementById("results").parentElement.hidden = page.getElementById("results").parentElement.hidden;
  };
  const again = async () => {
    await look().catch(() => null);
    if (!Number(job.dataset.busy)) return;
    setTimeout(again, 700); // after the answer, so that a slow service is not asked faster than it answers
  };
  again();
}
