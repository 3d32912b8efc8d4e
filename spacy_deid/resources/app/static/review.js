"use strict";
// A reviewer goes from span to span by keys and decides; each decision is sent at once and the page is read again.
const review = document.getElementById("review");
const original = document.getElementById("original");
const said = document.getElementById("said");
const marks = () => Array.from(original.querySelectorAll("mark"));
const label = document.getElementById("label");
const PLACE = `review ${review.dataset.file}`;
let current = Number(sessionStorage.getItem(PLACE) ?? -1);

const show = (index) => {
  const all = marks();
  if (!all.length) return;
  current = Math.max(0, Math.min(index, all.length - 1));
  sessionStorage.setItem(PLACE, String(current));
  for (const mark of all) mark.classList.toggle("current", mark === all[current]);
  for (const why of document.querySelectorAll(".why")) why.hidden = why.id !== `why-${all[current].dataset.span}`;
  label.value = all[current].dataset.label;
  all[current].focus({ preventScroll: true });
  all[current].scrollIntoView({ block: "nearest" });
};

// Offsets count characters as Python does, code points, and the tags on the page are no part of the text.
const length = (text) => Array.from(text).length;
const offset = (node, at) => {
  const range = document.createRange();
  range.setStart(original, 0);
  range.setEnd(node, at);
  const part = range.cloneContents();
  for (const tag of part.querySelectorAll(".tag")) tag.remove();
  return length(part.textContent);
};

const decide = async (action, start, end) => {
  const answer = await fetch(`/v1/files/${review.dataset.file}/decisions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ action, start, end, label: label.value }),
  });
  if (answer.ok) location.reload();
  else said.textContent = `${review.dataset.problem} ${(await answer.json()).detail}`;
};

const onSpan = (action) => () => {
  const mark = marks()[current];
  if (mark) decide(action, Number(mark.dataset.start), Number(mark.dataset.end));
};
const add = () => {
  const chosen = getSelection();
  if (chosen.isCollapsed || !original.contains(chosen.anchorNode) || !original.contains(chosen.focusNode)) return;
  const range = chosen.getRangeAt(0);
  decide("add", offset(range.startContainer, range.startOffset), offset(range.endContainer, range.endOffset));
};
const actions = {
  previous: () => show(current - 1),
  next: () => show(current + 1),
  release: onSpan("release"),
  restore: onSpan("restore"),
  relabel: onSpan("relabel"),
  add,
};
const keys = { k: "previous", j: "next", x: "release", u: "restore", l: "relabel", a: "add" };

for (const button of review.querySelectorAll("[data-do]")) {
  button.addEventListener("mousedown", (event) => event.preventDefault()); // keeps what is selected
  button.addEventListener("click", actions[button.dataset.do]);
}
original.addEventListener("click", (event) => {
  const mark = event.target.closest("mark");
  if (mark && getSelection().isCollapsed) show(marks().indexOf(mark));
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, input")) return;
  if (event.key === "s") document.getElementById("apply").click();
  else if (keys[event.key]) actions[keys[event.key]]();
  else return;
  event.preventDefault();
});
if (current >= 0) show(current);
