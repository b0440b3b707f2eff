"use strict";
// The page: a line for each case, the filter, the theme, and keyboard shortcuts. All strings are inserted as text, never as markup.

const STATUSES = {
  failed: { mark: "✕", word: "Failed" },
  error: { mark: "!", word: "Error" },
  passed: { mark: "✓", word: "Passed" },
};

const KEYS = [
  ["Tab", "to the next control; on lines, Enter opens and closes"],
  ["J  K", "open the next case, the one before"],
  ["E  ⇧E", "exposure up, down by half a stop; X resets it"],
  ["+  −  0", "zoom in, out, show all; the wheel does it at the pointer"],
  ["← → ↑ ↓", "on the pictures: move the pixel pointed at, with Shift by ten"],
  ["← →", "on the slider: move it, with Shift by ten; Home and End"],
  ["F", "flip between reference and result in the split view"],
  ["W", "point at the pixel that differs most"],
  ["R  G  B  C", "show one channel, or all colours"],
  ["T", "light or dark"],
  ["?", "this list"],
];

const page = Object.fromEntries(["about", "theme", "help", "statuses", "search", "cases", "nothing", "keys"].map((id) => [id, document.getElementById(id)]));

/** The lines of the cases in order, with their data and elements. */
let lines = [];
/** The viewer of the open case, if any. */
let viewer = null;

/** Called by the file with the list of cases. */
function showReport({ suite, version, cases }) {
  const seconds = cases.reduce((sum, c) => sum + (c.seconds ?? 0), 0);
  const failing = cases.filter((c) => c.status !== "passed").length;
  document.title = `${failing ? `${failing} of ${cases.length} failed` : "All passed"} · ${suite}`;
  const written = new Date(document.lastModified).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const facts = [suite, `${cases.length} ${cases.length === 1 ? "case" : "cases"} in ${formatSeconds(seconds)}`, written, `Lightbound ${version}`];
  page.about.append(...facts.map((fact) => make("span", {}, fact)));
  lines = cases.map((data, index) => makeLine(data, index));
  page.cases.append(...lines.map((line) => line.item));
  showFilter(cases);
  const named = lines.find((line) => location.hash === anchor(line.data));
  const first = named ?? lines.find((line) => line.data.status !== "passed");
  if (first) first.details.open = true;
  if (named) named.item.scrollIntoView();
}

function anchor(data) {
  return `#${encodeURIComponent(data.name)}`;
}

function makeLine(data, index) {
  const { mark, word } = STATUSES[data.status];
  const status = make("span", { className: "status", title: word }, make("span", { "aria-hidden": "true" }, mark), make("span", { className: "unseen" }, word));
  const thumbnail = data.thumbnail ? make("img", { src: data.thumbnail, alt: "" }) : make("span", { className: "no-picture" });
  const said = data.messages[0] ?? data.description;
  const title = make("span", { className: "title" }, make("strong", {}, data.name), make("span", { className: "said" }, said));
  const figures = make("span", { className: "figures" }, ...decisive(data.figures).map(makeFigure));
  const summary = make("summary", {}, status, thumbnail, title, figures, makeTime(data));
  const body = make("div", { className: "body" });
  // A shared name, so that opening a case closes the others.
  const details = make("details", { name: "case" }, summary, body);
  const item = make("li", { className: data.status }, details);
  const line = { data, index, item, details, summary, body };
  details.addEventListener("toggle", () => (details.open ? open(line) : close(line)));
  summary.addEventListener("click", () => (line.userOpened = true));
  return line;
}

/** The figures shown in a line: up to three with limits, failing ones first. */
function decisive(figures) {
  const limited = figures.filter((f) => f.limit);
  return [...limited.filter((f) => !f.holds), ...limited.filter((f) => f.holds)].slice(0, 3);
}

/** The element of a figure: name, value and limit. */
function makeFigure({ name, value, limit, holds }) {
  const { text, bound } = formatFigure(value, limit);
  return make("span", { className: holds ? "figure" : "figure fails" }, make("span", { className: "name" }, name), make("b", {}, text), make("span", { className: "limit" }, bound));
}

/** The formatted value and limit of a figure. */
function formatFigure(value, limit) {
  if (!limit) return { text: formatNumber(Number(value)), bound: "" };
  const [text, bound] = formatWithLimit(Number(value), Number(limit.atLeast ?? limit.atMost));
  return { text, bound: `${"atLeast" in limit ? "≥" : "≤"} ${bound}` };
}

function makeTime({ seconds, lastSeconds }) {
  if (seconds === null) return make("span", { className: "time" }, "not rendered");
  const time = make("span", { className: "time" }, make("b", {}, formatSeconds(seconds)));
  if (lastSeconds === null) return time.append(make("span", {}, "first run")), time;
  const percent = Math.round((seconds / lastSeconds - 1) * 100);
  const change = !Number.isFinite(percent) || percent === 0 ? "as last time" : `${percent > 0 ? "+" : "−"}${Math.abs(percent)} %`;
  const title = `${formatSeconds(lastSeconds)} in the last run`;
  time.append(make("span", { className: percent > 25 ? "slower" : percent < -25 ? "faster" : "", title }, change));
  return time;
}

async function open(line) {
  const { data, body } = line;
  viewer?.dispose();
  viewer = null;
  body.replaceChildren(makeText(data));
  const host = make("div", { className: "viewer" });
  body.append(host);
  if (data.figures.length > 0) body.append(figureTable(data.figures));
  if (data.pictures) await showPictures(line, host);
  if (line.userOpened && host.isConnected) {
    history.replaceState(null, "", anchor(data));
    line.item.scrollIntoView({ block: "start" });
  }
}

async function showPictures(line, host) {
  host.append(make("p", { className: "loading" }, "Loading pictures …"));
  try {
    const pictures = await loadPictures(line.index, line.data.pictures);
    // The case may have been closed, and even reopened, in the meantime.
    if (!host.isConnected) return;
    host.replaceChildren();
    viewer = new Viewer(host, pictures);
    viewer.line = line;
  } catch (error) {
    host.replaceChildren(make("p", { className: "note error" }, error.message));
  }
}

/** Closes a case and releases its images, which may be large. */
function close(line) {
  if (viewer?.line === line) {
    viewer.dispose();
    viewer = null;
  }
  line.body.replaceChildren();
}

/** Description and messages of a case. */
function makeText(data) {
  const parts = [];
  if (data.description) parts.push(make("p", { className: "description" }, data.description));
  if (data.messages.length > 0) {
    const help = data.help ? [make("p", {}, data.help)] : [];
    parts.push(make("div", { className: `note ${data.status}` }, ...data.messages.map((message) => make("p", {}, message)), ...help));
  }
  return make("div", { className: "words" }, ...parts);
}

function figureTable(figures) {
  const rows = figures.map(({ name, value, limit, holds }) => {
    const { text, bound } = formatFigure(value, limit);
    const verdict = !limit ? "" : holds ? "holds" : "fails";
    return make("tr", { className: verdict }, make("th", { scope: "row" }, name), make("td", {}, text), make("td", {}, bound), make("td", {}, verdict));
  });
  const head = make("tr", {}, ...["Figure", "Value", "Limit", ""].map((text) => make("th", { scope: "col" }, text)));
  return make("table", { className: "all-figures" }, head, ...rows);
}

function showFilter(cases) {
  const count = (status) => cases.filter((c) => c.status === status).length;
  const choices = [["all", `All ${cases.length}`]];
  for (const [status, { mark, word }] of Object.entries(STATUSES)) {
    if (count(status) > 0) choices.push([status, make("i", { className: status, "aria-hidden": "true" }, mark), ` ${word} ${count(status)}`]);
  }
  let chosen = "all";
  const apply = () => {
    const wanted = page.search.value.trim().toLowerCase();
    for (const { data, item } of lines) {
      item.hidden = (chosen !== "all" && data.status !== chosen) || !`${data.name} ${data.description}`.toLowerCase().includes(wanted);
    }
    page.nothing.hidden = lines.some((line) => !line.item.hidden);
  };
  fillChoice(page.statuses, "status", choices, chosen, (status) => {
    chosen = status;
    apply();
  });
  page.search.addEventListener("input", apply);
  page.search.form.addEventListener("submit", (event) => event.preventDefault());
}

/** Opens the case that is `step` visible lines below the open one. */
function openNext(step) {
  const shown = lines.filter((line) => !line.item.hidden);
  const at = shown.findIndex((line) => line.details.open);
  const next = shown[at < 0 ? (step > 0 ? 0 : shown.length - 1) : at + step];
  if (!next) return;
  next.userOpened = true;
  next.details.open = true;
  next.summary.focus({ preventScroll: true });
}

/** The selected theme, `light` or `dark`, or by default that of the system. Pages from disk may have no storage. */
const theme = {
  load() {
    try {
      return localStorage.getItem("lightbound-theme");
    } catch {
      return null;
    }
  },
  save(name) {
    try {
      localStorage.setItem("lightbound-theme", name);
    } catch {
      // Without storage, the theme lasts until the page is closed.
    }
  },
  system: matchMedia("(prefers-color-scheme: dark)"),
  get current() {
    return document.documentElement.dataset.theme ?? (this.system.matches ? "dark" : "light");
  },
  show() {
    const other = this.current === "dark" ? "light" : "dark";
    page.theme.replaceChildren(`${other === "dark" ? "☾" : "☀"} ${other === "dark" ? "Dark" : "Light"} `, make("kbd", {}, "T"));
  },
  toggle() {
    document.documentElement.dataset.theme = this.current === "dark" ? "light" : "dark";
    this.save(this.current);
    this.show();
  },
  start() {
    const saved = this.load();
    if (saved === "light" || saved === "dark") document.documentElement.dataset.theme = saved;
    this.system.addEventListener("change", () => this.show());
    page.theme.addEventListener("click", () => this.toggle());
    this.show();
  },
};

/** Keyboard shortcuts that work with any focus. */
const actions = {
  j: () => openNext(1),
  k: () => openNext(-1),
  t: () => theme.toggle(),
  "?": () => page.keys.showModal(),
  e: () => viewer?.expose(settings.stops + 0.5),
  E: () => viewer?.expose(settings.stops - 0.5),
  x: () => viewer?.expose(0),
  "+": () => viewer?.stage.zoomBy(2),
  "=": () => viewer?.stage.zoomBy(2),
  "-": () => viewer?.stage.zoomBy(-2),
  0: () => viewer?.stage.fit(),
  f: () => viewer?.flip(),
  w: () => viewer?.toWorst(),
  r: () => viewer?.choose(0),
  g: () => viewer?.choose(1),
  b: () => viewer?.choose(2),
  c: () => viewer?.choose("rgb"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || page.keys.open) return;
  if (event.target.matches("input[type=search], select")) return;
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

for (const [keys, what] of KEYS) {
  page.keys.querySelector("dl").append(make("dt", {}, ...keys.split("  ").map((key) => make("kbd", {}, key))), make("dd", {}, what));
}
page.help.addEventListener("click", () => page.keys.showModal());
theme.start();
