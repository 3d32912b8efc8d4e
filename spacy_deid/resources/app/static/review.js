"use strict";
// A reviewer goes from span to span and decides. Decisions are sent one after the other; the parts of the page that
// depend on them are read again from the server, so that they are rendered in one place.
const review = document.getElementById("review");
const original = document.getElementById("original");
const said = document.getElementById("said");
const label = document.getElementById("label");
const everywhere = document.getElementById("everywhere");
const words = review.dataset;
const FILE = `/files/${words.file}`;
const QUERY = `reviewer=${words.reviewer}`;
// which span of which part was looked at; a long text is a page for each part
const PLACE = `review ${words.file} ${words.part}`;
const starts = words.pages ? words.pages.split(",").map(Number) : [];
let current = -1;
let sheet = 1; // the page that is shown
let sure = false;
let changes = 0;

const all = () => Array.from(original.querySelectorAll("mark[data-span]"));
// spans that pass the filters, and those that were nearly found if they are shown
const marks = () =>
  Array.from(original.querySelectorAll("mark:not(.other)")).filter(
    (mark) => mark.dataset.span || review.classList.contains("show-nearly"),
  );
const say = (text, wrong = false) => {
  said.textContent = text;
  said.classList.toggle("wrong", wrong);
};

// --- the current span

const explain = async (mark) => {
  const evidence = document.getElementById("evidence");
  const span = mark.dataset.span;
  evidence.dataset.span = span ?? "";
  if (span === undefined) return evidence.replaceChildren();
  const answer = await fetch(`${FILE}/spans/${span}?${QUERY}`).catch(() => null);
  if (answer?.ok && evidence.dataset.span === span) evidence.innerHTML = await answer.text(); // the server escapes it
};
const item = (mark) => document.querySelector(`#spans li[data-span="${mark.dataset.span}"]`);
const turn = (rel, part, index) => {
  const link = review.querySelector(`a[rel=${rel}]`);
  if (link) sessionStorage.setItem(`review ${words.file} ${part}`, String(index));
  link?.click();
  return Boolean(link);
};
const into = (box, element) => {
  if (!box || !element || !box.clientHeight) return;
  const at = element.offsetTop;
  if (at < box.scrollTop || at + element.offsetHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = at - box.clientHeight / 2;
};
const show = (index, focus = true) => {
  const list = marks();
  const part = Number(words.part);
  if (index >= list.length && turn("next", part + 1, 0)) return;
  if (index < 0 && turn("prev", part - 1, 1e6)) return;
  if (!list.length) return;
  current = Math.max(0, Math.min(index, list.length - 1));
  sessionStorage.setItem(PLACE, String(current));
  const mark = list[current];
  const { start } = mark.dataset;
  for (const one of original.querySelectorAll("mark")) one.classList.toggle("current", one === mark);
  for (const one of document.querySelectorAll("#released mark, .box")) {
    one.classList.toggle("current", one.dataset.start === start);
  }
  into(document.getElementById("released"), document.querySelector("#released mark.current"));
  for (const one of document.querySelectorAll("#spans li")) one.classList.toggle("current", one === item(mark));
  into(document.getElementById("spans"), item(mark));
  const times = document.getElementById("times");
  const count = Number(item(mark)?.dataset.count ?? 1);
  times.textContent = count > 1 ? times.dataset.some.replace("{count}", count) : times.dataset.one;
  everywhere.checked = false; // holds for one span only, so that nothing is decided by mistake
  label.value = mark.dataset.label;
  explain(mark);
  turnTo(pageOf(Number(start)));
  if (focus) {
    getSelection().removeAllRanges();
    mark.focus({ preventScroll: true });
    mark.scrollIntoView({ block: "nearest" });
  }
};
const nextUnseen = () => {
  const list = marks();
  const left = (mark) => mark.dataset.span && !mark.classList.contains("seen");
  const after = list.findIndex((mark, i) => i > current && left(mark));
  if (after >= 0) return show(after);
  if (review.querySelector("a[rel=next]")) return show(list.length);
  const first = list.findIndex(left);
  if (first >= 0) return show(first);
  say(words.all);
};

// --- decisions

let queue = Promise.resolve(); // decisions are sent in the order of the keys
const send = (change) => {
  const body = { reviewer: Number(words.reviewer), part: Number(words.part), ...change };
  const sent = queue.then(async () => {
    const answer = await fetch(`${FILE}/review`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }).catch(() => null); // nobody answers, and the reviewer has to know
    const detail = await answer?.json().catch(() => null);
    if (answer?.ok) return detail;
    const reason = typeof detail?.detail === "string" ? detail.detail : words.silence;
    if (detail?.again) sure = true;
    say(detail?.again ? detail.detail : `${words.problem} ${reason}`, true);
    return null;
  });
  queue = sent;
  return sent;
};
const LIVE = ["original", "released", "spans", "alerts", "done"];
const renew = async () => {
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok) return location.reload();
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of LIVE) {
    const [now, then] = [document.getElementById(id), page.getElementById(id)];
    const [across, down] = [now.scrollLeft, now.scrollTop];
    now.replaceChildren(...then.childNodes);
    now.scrollTo({ left: across, top: down, behavior: "instant" });
  }
  document.getElementById("undo").disabled = page.getElementById("undo").disabled;
  changes += 1;
  filter();
  await draw();
};
const decide = async (action, mark, more = {}) => {
  const place = { start: Number(mark.dataset.start), end: Number(mark.dataset.end) };
  say("");
  const done = await send({ action, everywhere: everywhere.checked, label: label.value, ...place, ...more });
  if (!done) return;
  await renew();
  const { start } = { ...place, ...more };
  const index = marks().findIndex((one) => Number(one.dataset.start) === start);
  show(index < 0 ? current : index);
};
const onSpan = (action) => () => {
  const mark = marks()[current];
  if (!mark?.dataset.span) return say(words.select, true);
  const released = action === "release" && mark.classList.contains("released");
  return decide(released ? "restore" : action, mark);
};
const agree = async () => {
  const mark = marks()[current];
  if (!mark) return nextUnseen();
  if (everywhere.checked) {
    await decide("agree", mark);
    return nextUnseen();
  }
  if (mark.dataset.span && !mark.classList.contains("seen")) {
    const place = { start: Number(mark.dataset.start), end: Number(mark.dataset.end) };
    flag(mark, true); // at once; the request follows
    send({ action: "agree", ...place }).then((done) => (done ? count(done) : flag(mark, false)));
  }
  return nextUnseen();
};
const flag = (mark, seen) => {
  mark.classList.toggle("seen", seen);
  mark.classList.toggle("unsure", !seen && mark.classList.contains("unsure"));
  item(mark)?.classList.toggle("seen", seen);
  const sign = item(mark)?.querySelector("i");
  if (sign) sign.textContent = seen ? "✓" : "";
};
const count = (done) => {
  document.getElementById("undo").disabled = false;
  const bar = document.getElementById("seen");
  bar.value = done.seen;
  bar.labels[0].textContent = bar.labels[0].textContent.replace(/\d+/, done.seen);
};
const undo = async () => {
  const before = new Map(all().map((mark) => [mark.dataset.start, mark.className + mark.dataset.label]));
  if (!(await send({ action: "undo" }))) return;
  await renew();
  say(words.undone);
  const strip = (name) => name?.replace(/ ?current/, "");
  const index = marks().findIndex(
    (mark) => strip(mark.className + mark.dataset.label) !== strip(before.get(mark.dataset.start)),
  );
  show(index < 0 ? current : index);
};
const whole = (action) => async () => {
  if (await send({ action })) await renew();
};
const finish = async () => {
  await queue;
  const done = await send({ action: "finish", sure });
  if (done) location.assign(`${done.next}${done.next.startsWith("/files") ? `?${QUERY}` : ""}`);
};

// --- adding: offsets count characters as Python does, code points

const length = (text) => Array.from(text).length;
const before = (node, at) => {
  const range = document.createRange();
  range.setStart(original, 0);
  range.setEnd(node, at);
  return range.toString();
};
const add = () => {
  const chosen = getSelection();
  const inside = original.contains(chosen.anchorNode) && original.contains(chosen.focusNode);
  if (chosen.isCollapsed || !inside) {
    const mark = marks()[current];
    return mark && !mark.dataset.span ? decide("add", mark) : say(words.select, true);
  }
  const range = chosen.getRangeAt(0);
  const start = Number(words.offset) + length(before(range.startContainer, range.startOffset));
  return decide("add", original, { start, end: start + length(range.toString()) });
};
const relabel = () => {
  const mark = marks()[current];
  if (mark && label.value === mark.dataset.label) return openLabels();
  return onSpan("relabel")();
};
const openLabels = () => {
  document.querySelector(".now").classList.add("open");
  label.focus();
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
  say(`${said.dataset.chosen} ${getSelection().toString()}`);
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

// --- filters, and what was nearly found

const filter = () => {
  const wanted = (id) => document.getElementById(id)?.value ?? "";
  const [name, source, state] = ["by-label", "by-source", "by-state"].map(wanted);
  for (const mark of all()) {
    const one = item(mark);
    const fits =
      (!name || mark.dataset.label === name) &&
      (!source || one?.dataset.sources.split(" ").includes(source)) &&
      (!state || (state === "unseen" ? !mark.classList.contains("seen") : mark.classList.contains(state)));
    mark.classList.toggle("other", !fits);
    if (one) one.hidden = !fits;
  }
};
const toggleNearly = () => {
  const button = document.getElementById("nearly");
  if (!button) return;
  const mark = marks()[current];
  const on = review.classList.toggle("show-nearly");
  button.setAttribute("aria-pressed", String(on));
  const list = marks();
  const first = list.findIndex((one) => !one.dataset.span);
  if (on && first >= 0) show(first);
  else current = Math.max(0, list.indexOf(mark));
};

// --- pages

const SVG = "http://www.w3.org/2000/svg";
const pageOf = (start) => Math.max(1, starts.filter((one) => one <= start).length);
const draw = async () => {
  if (!starts.length) return;
  const version = changes;
  const [page, copy] = ["page", "copy"].map((view) => document.getElementById(`view-${view}`));
  for (const where of review.querySelectorAll(".pager .where")) {
    where.textContent = words.page.replace("{page}", sheet).replace("{pages}", starts.length);
  }
  for (const button of review.querySelectorAll("[data-turn]")) {
    const to = sheet + Number(button.dataset.turn);
    button.disabled = to < 1 || to > starts.length;
  }
  if (!page.hidden) {
    const url = `${FILE}/pages/${sheet}/picture`;
    const image = page.querySelector("img");
    if (image.getAttribute("src") !== url) image.src = url;
    const answer = await fetch(`${FILE}/pages/${sheet}?${QUERY}`).catch(() => null);
    if (answer?.ok && version === changes) boxes(page.querySelector(".sheet"), await answer.json());
  }
  if (!copy.hidden) {
    const image = copy.querySelector("img") ?? new Image();
    image.alt = copy.querySelector("h2").textContent;
    image.src = `${FILE}/pages/${sheet}/picture?${QUERY}&released=true&v=${version}`;
    if (!image.isConnected) {
      image.addEventListener("load", () => copy.querySelector(".sheet").replaceChildren(image), { once: true });
    }
  }
};
const boxes = (sheet, page) => {
  sheet.querySelector("svg")?.remove();
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", `0 0 ${page.width} ${page.height}`);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("aria-hidden", "true"); // the list of spans has the same for readers of the screen
  const now = marks()[current]?.dataset.start;
  for (const area of page.areas) {
    for (const corners of area.areas) {
      const box = document.createElementNS(SVG, "polygon");
      box.setAttribute("points", corners.map((corner) => corner.join(",")).join(" "));
      box.setAttribute("class", `box kind-${area.kind}${area.removed ? "" : " left"}`);
      box.classList.toggle("current", String(area.start) === now);
      box.dataset.start = area.start;
      drawing.append(box);
    }
  }
  drawing.addEventListener("click", (event) => {
    const index = marks().findIndex((mark) => mark.dataset.start === event.target.dataset.start);
    if (index >= 0) show(index);
  });
  sheet.style.aspectRatio = `${page.width} / ${page.height}`; // until the picture is there
  sheet.append(drawing);
};
const turnTo = (number) => {
  if (!starts.length || number === sheet) return;
  sheet = Math.max(1, Math.min(number, starts.length));
  draw();
};

// --- what is shown

const views = Array.from(review.querySelectorAll("[data-view]"));
const showViews = (names) => {
  for (const button of views) {
    const on = names.includes(button.dataset.view);
    button.setAttribute("aria-pressed", String(on));
    document.getElementById(`view-${button.dataset.view}`).hidden = !on;
  }
  draw();
};
const pressed = () => views.filter((one) => one.getAttribute("aria-pressed") === "true").map((one) => one.dataset.view);
for (const button of views) {
  button.addEventListener("click", () => {
    const name = button.dataset.view;
    const narrow = matchMedia("(max-width: 48rem)").matches;
    const now = pressed();
    const names = narrow ? [name] : now.includes(name) ? now.filter((one) => one !== name) : [...now, name];
    if (!names.length) return;
    localStorage.setItem("views", names.join(" "));
    showViews(names);
  });
}
const known = views.map((one) => one.dataset.view);
const kept = (localStorage.getItem("views") ?? "").split(" ").filter((name) => known.includes(name));
const usual = matchMedia("(max-width: 48rem)").matches ? ["before"] : pressed();
showViews(kept.length ? kept : usual);

// --- keys and clicks

const actions = {
  previous: () => show(current < 0 && marks().length ? 0 : current - 1),
  next: () => show(current + 1),
  agree,
  release: onSpan("release"),
  relabel,
  add,
  undo,
  warnings: whole("warnings"),
  reopen: whole("reopen"),
  finish,
  nextWord,
  previousWord,
  longer,
  nearly: toggleNearly,
  everywhere: () => everywhere.click(),
  apply: () => document.getElementById("apply")?.click(),
};
const keys = { k: "previous", j: "next", x: "release", u: "undo", l: "relabel", a: "add", f: "finish", c: "warnings" };
Object.assign(keys, { w: "nextWord", b: "previousWord", e: "longer", h: "nearly", o: "everywhere", s: "apply" });
// single keys get in the way of people who dictate, so that they can be turned off
const useKeys = document.getElementById("keys");
useKeys.checked = localStorage.getItem("keys") !== "off";
useKeys.addEventListener("change", () => localStorage.setItem("keys", useKeys.checked ? "on" : "off"));

review.addEventListener("mousedown", (event) => {
  if (event.target.closest("[data-do]")) event.preventDefault(); // keeps what is selected
});
review.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button) return actions[button.dataset.do]();
  const turned = event.target.closest("[data-turn]");
  if (turned) return turnTo(sheet + Number(turned.dataset.turn));
  const line = event.target.closest("#spans li");
  if (line) return show(marks().findIndex((mark) => mark.dataset.span === line.dataset.span));
  const mark = event.target.closest("#original mark, #released mark");
  if (mark && getSelection().isCollapsed) {
    const index = marks().findIndex((one) => one.dataset.start === mark.dataset.start);
    if (index >= 0) show(index);
  }
  return undefined;
});
document.getElementById("nearly")?.addEventListener("click", toggleNearly);
document.getElementById("more").addEventListener("click", (event) => {
  const open = document.querySelector(".now").classList.toggle("open");
  event.target.setAttribute("aria-expanded", String(open));
});
for (const id of ["by-label", "by-source", "by-state"]) {
  document.getElementById(id)?.addEventListener("change", () => {
    filter();
    current = -1;
    show(0, false);
  });
}
label.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" && event.key !== "Escape") return;
  event.preventDefault();
  const mark = marks()[current];
  if (event.key === "Escape" || label.value === mark?.dataset.label) mark?.focus();
  else onSpan("relabel")();
});
document.addEventListener("keydown", (event) => {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("select, textarea") || !useKeys.checked) return;
  if (event.key === "Enter") {
    if (target.closest("a, button, summary, input")) return; // has a meaning of its own there
    actions.agree();
  } else if (keys[event.key]) actions[keys[event.key]]();
  else return;
  event.preventDefault();
});
const last = Number(sessionStorage.getItem(PLACE) ?? -1);
if (last >= 0 && marks().length) show(Math.min(last, marks().length - 1));
