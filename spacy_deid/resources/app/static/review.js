"use strict";
// A reviewer goes from span to span by keys and decides; each decision is sent at once and the page is read again.
const review = document.getElementById("review");
const original = document.getElementById("original");
const said = document.getElementById("said");
const marks = () => Array.from(original.querySelectorAll("mark"));
const label = document.getElementById("label");
// which span of which part was looked at; a long text is a page for each part
const PLACE = `review ${review.dataset.file} ${review.dataset.part}`;
let current = Number(sessionStorage.getItem(PLACE) ?? -1);

const explain = async (span) => {
  const evidence = document.getElementById("evidence");
  evidence.dataset.span = span;
  const answer = await fetch(`/files/${review.dataset.file}/spans/${span}`).catch(() => null);
  if (answer?.ok && evidence.dataset.span === span) evidence.innerHTML = await answer.text(); // the server escapes it
};

const turn = (rel, part, index) => {
  const link = review.querySelector(`a[rel=${rel}]`);
  if (link) sessionStorage.setItem(`review ${review.dataset.file} ${part}`, String(index));
  link?.click();
  return Boolean(link);
};
// The released text goes along, within its own box.
const follow = (start) => {
  const side = document.getElementById("released");
  for (const mark of side.querySelectorAll("mark")) {
    mark.classList.toggle("current", mark.dataset.start === start);
    if (mark.dataset.start === start) side.scrollTop = mark.offsetTop - side.offsetTop - side.clientHeight / 2;
  }
};
const show = (index) => {
  const all = marks();
  const part = Number(review.dataset.part);
  if (index >= all.length && turn("next", part + 1, 0)) return;
  if (index < 0 && turn("prev", part - 1, 1e6)) return;
  if (!all.length) return;
  current = Math.max(0, Math.min(index, all.length - 1));
  sessionStorage.setItem(PLACE, String(current));
  for (const mark of all) mark.classList.toggle("current", mark === all[current]);
  follow(all[current].dataset.start);
  explain(all[current].dataset.span);
  label.value = all[current].dataset.label;
  getSelection().removeAllRanges();
  all[current].focus({ preventScroll: true });
  all[current].scrollIntoView({ block: "nearest" });
};

// Offsets count characters as Python does, code points.
const length = (text) => Array.from(text).length;
const before = (node, at) => {
  const range = document.createRange();
  range.setStart(original, 0);
  range.setEnd(node, at);
  return range.toString();
};

const decide = async (action, start, end) => {
  const answer = await fetch(`/v1/files/${review.dataset.file}/decisions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ action, start, end, label: label.value }),
  }).catch(() => null); // nobody answers, and the reviewer has to know
  if (answer?.ok) {
    const index = marks().filter((mark) => Number(mark.dataset.start) < start).length;
    if (action === "add") sessionStorage.setItem(PLACE, String(index));
    location.reload();
    return;
  }
  const detail = await answer?.json().catch(() => null);
  said.textContent = `${review.dataset.problem} ${detail?.detail ?? review.dataset.silence}`;
};

const onSpan = (action) => () => {
  const mark = marks()[current];
  if (mark) decide(action, Number(mark.dataset.start), Number(mark.dataset.end));
};
const add = () => {
  const chosen = getSelection();
  if (chosen.isCollapsed || !original.contains(chosen.anchorNode) || !original.contains(chosen.focusNode)) return;
  const range = chosen.getRangeAt(0);
  const start = Number(review.dataset.offset) + length(before(range.startContainer, range.startOffset));
  decide("add", start, start + length(range.toString()));
};

// Words can be selected without a mouse. Places are in the units of a string here, as ranges want them.
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const place = (at) => {
  const walker = document.createTreeWalker(original, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && at > walker.currentNode.length) at -= walker.currentNode.length;
  return [walker.currentNode, at];
};
const chosen = () => {
  const now = getSelection();
  if (now.rangeCount && !now.isCollapsed && original.contains(now.anchorNode)) {
    const range = now.getRangeAt(0);
    const start = before(range.startContainer, range.startOffset).length;
    return [start, start + range.toString().length];
  }
  const mark = marks()[current];
  const start = mark ? before(mark, 0).length : 0;
  return [start, start + (mark ? mark.textContent.length : 0)];
};
const select = (start, end) => {
  getSelection().setBaseAndExtent(...place(start), ...place(end));
  getSelection().focusNode.parentElement.scrollIntoView({ block: "nearest" });
  said.textContent = `${said.dataset.chosen} ${getSelection().toString()}`;
};
const wordAfter = (at) => {
  WORD.lastIndex = at;
  return WORD.exec(original.textContent);
};
const nextWord = () => {
  const word = wordAfter(chosen()[1]);
  if (word) select(word.index, word.index + word[0].length);
};
const previousWord = () => {
  const [start] = chosen();
  const from = Math.max(0, start - 300);
  WORD.lastIndex = 0;
  const word = Array.from(original.textContent.slice(from, start).matchAll(WORD)).at(-1);
  if (word) select(from + word.index, from + word.index + word[0].length);
};
const longer = () => {
  const [start, end] = chosen();
  const word = wordAfter(end);
  if (word) select(start, word.index + word[0].length);
};
const actions = {
  previous: () => show(current < 0 && marks().length ? 0 : current - 1),
  next: () => show(current + 1),
  release: onSpan("release"),
  restore: onSpan("restore"),
  relabel: onSpan("relabel"),
  add,
  nextWord,
  previousWord,
  longer,
};
const keys = { k: "previous", j: "next", x: "release", u: "restore", l: "relabel", a: "add" };
Object.assign(keys, { w: "nextWord", b: "previousWord", e: "longer" });
// single keys get in the way of who dictates to the machine, so that they can be turned off
const useKeys = document.getElementById("keys");
useKeys.checked = localStorage.getItem("keys") !== "off";
useKeys.addEventListener("change", () => localStorage.setItem("keys", useKeys.checked ? "on" : "off"));

for (const button of review.querySelectorAll("[data-do]")) {
  button.addEventListener("mousedown", (event) => event.preventDefault()); // keeps what is selected
  button.addEventListener("click", actions[button.dataset.do]);
}
original.addEventListener("click", (event) => {
  const mark = event.target.closest("mark");
  if (mark && getSelection().isCollapsed) show(marks().indexOf(mark));
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select") || !useKeys.checked) return;
  if (event.key === "s") document.getElementById("apply").click();
  else if (keys[event.key]) actions[keys[event.key]]();
  else return;
  event.preventDefault();
});
if (current >= 0 && marks().length) show(Math.min(current, marks().length - 1));
