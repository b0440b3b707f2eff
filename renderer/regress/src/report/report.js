"use strict";
// The page: a row for each case, the filter, and keyboard shortcuts. All strings are inserted as
// text, never as markup.

const STATUSES = {
  failed: { mark: "✕", word: "Failed" },
  error: { mark: "!", word: "Error" },
  passed: { mark: "✓", word: "Passed" },
};

const KEYS = [
  ["Tab", "next control; on a case, Enter opens or closes it"],
  ["J  K", "open the next or the previous case"],
  ["E  ⇧E", "raise or lower the exposure by half a stop; X resets it"],
  ["+  −  0", "zoom in, zoom out, fit the image; the wheel zooms at the pointer"],
  ["← → ↑ ↓", "on the images: move the selected pixel, with Shift by ten"],
  ["← →", "on the slider: move it, with Shift ten times as far; also Home and End"],
  ["F", "switch between reference and result in the split view"],
  ["W", "select the pixel with the largest difference"],
  ["R  G  B  C", "show one channel, or all colours"],
  ["T", "switch between light and dark theme"],
  ["?", "show this list"],
];

const page = Object.fromEntries(
  ["about", "help", "statuses", "search", "cases", "noMatch", "keys"].map((id) => [
    id,
    document.getElementById(id),
  ]),
);

/** The rows of the cases in order, with their data and elements. */
let rows = [];
/** The viewer of the open case, if any. */
let viewer = null;

/** Called by the script with the list of cases. */
function showReport({ suite, version, cases }) {
  const seconds = cases.reduce((sum, c) => sum + (c.seconds ?? 0), 0);
  const failing = cases.filter((c) => c.status !== "passed").length;
  document.title = `${failing ? `${failing} of ${cases.length} failed` : "All passed"} · ${suite}`;
  const written = new Date(document.lastModified).toLocaleString(undefined, {
    dateStyle: "medium",
    timeStyle: "short",
  });
  const facts = [
    suite,
    `${cases.length} ${cases.length === 1 ? "case" : "cases"} in ${formatSeconds(seconds)}`,
    written,
    `Lightbound ${version}`,
  ];
  page.about.append(...facts.map((fact) => make("span", {}, fact)));
  rows = cases.map((data, index) => makeRow(data, index));
  page.cases.append(...rows.map((row) => row.item));
  showFilter(cases);
  const linked = rows.find((row) => location.hash === anchor(row.data));
  const first = linked ?? rows.find((row) => row.data.status !== "passed");
  if (first) first.details.open = true;
  if (linked) linked.item.scrollIntoView();
}

function anchor(data) {
  return `#${encodeURIComponent(data.name)}`;
}

function makeRow(data, index) {
  const { mark, word } = STATUSES[data.status];
  const status = make(
    "span",
    { className: "status", title: word },
    make("span", { "aria-hidden": "true" }, mark),
    make("span", { className: "visually-hidden" }, word),
  );
  const thumbnail = data.thumbnail
    ? make("img", { src: data.thumbnail, alt: "" })
    : make("span", { className: "no-image" });
  const message = data.messages[0] ?? data.description;
  const title = make(
    "span",
    { className: "title" },
    make("strong", {}, data.name),
    make("span", { className: "message" }, message),
  );
  const metrics = make(
    "span",
    { className: "metrics" },
    ...keyMetrics(data.metrics).map(makeMetric),
  );
  const summary = make("summary", {}, status, thumbnail, title, metrics, makeTime(data));
  const body = make("div", { className: "body" });
  // With a shared name, opening a case closes the others.
  const details = make("details", { name: "case" }, summary, body);
  const item = make("li", { className: data.status }, details);
  const row = { data, index, item, details, summary, body };
  details.addEventListener("toggle", () => (details.open ? open(row) : close(row)));
  summary.addEventListener("click", () => (row.userOpened = true));
  return row;
}

/** The metrics shown in a row: up to three with limits, failing ones first. */
function keyMetrics(metrics) {
  const limited = metrics.filter((metric) => metric.limit);
  const failed = limited.filter((metric) => !metric.passes);
  const passed = limited.filter((metric) => metric.passes);
  return [...failed, ...passed].slice(0, 3);
}

/** The element of a metric: name, value and limit. */
function makeMetric({ name, value, limit, passes }) {
  const { text, bound } = formatMetric(value, limit);
  return make(
    "span",
    { className: passes ? "metric" : "metric fails" },
    make("span", { className: "name" }, name),
    make("b", {}, text),
    make("span", { className: "limit" }, bound),
  );
}

/** Formats value and limit of a metric. */
function formatMetric(value, limit) {
  if (!limit) return { text: formatNumber(Number(value)), bound: "" };
  const [text, bound] = formatWithLimit(Number(value), Number(limit.atLeast ?? limit.atMost));
  return { text, bound: `${"atLeast" in limit ? "≥" : "≤"} ${bound}` };
}

function makeTime({ seconds, lastSeconds }) {
  if (seconds === null) return make("span", { className: "time" }, "not rendered");
  const time = make("span", { className: "time" }, make("b", {}, formatSeconds(seconds)));
  if (lastSeconds === null) {
    time.append(make("span", {}, "first run"));
    return time;
  }
  const percent = Math.round((seconds / lastSeconds - 1) * 100);
  const change =
    !Number.isFinite(percent) || percent === 0
      ? "unchanged"
      : `${percent > 0 ? "+" : "−"}${Math.abs(percent)} %`;
  const title = `${formatSeconds(lastSeconds)} in the last run`;
  time.append(
    make(
      "span",
      { className: percent > 25 ? "slower" : percent < -25 ? "faster" : "", title },
      change,
    ),
  );
  return time;
}

async function open(row) {
  const { data, body } = row;
  viewer?.dispose();
  viewer = null;
  body.replaceChildren(makeText(data));
  const host = make("div", { className: "viewer" });
  body.append(host);
  if (data.metrics.length > 0) body.append(metricTable(data.metrics));
  if (data.imagesFile) await showImages(row, host);
  if (row.userOpened && host.isConnected) {
    history.replaceState(null, "", anchor(data));
    row.item.scrollIntoView({ block: "start" });
  }
}

async function showImages(row, host) {
  host.append(make("p", { className: "loading" }, "Loading images …"));
  try {
    const images = await loadImages(row.index, row.data.imagesFile);
    // The case may have been closed, and even reopened, in the meantime.
    if (!host.isConnected) return;
    host.replaceChildren();
    viewer = new Viewer(host, images);
    viewer.row = row;
  } catch (error) {
    host.replaceChildren(make("p", { className: "note error" }, error.message));
  }
}

/** Closes a case and releases its images, which may be large. */
function close(row) {
  if (viewer?.row === row) {
    viewer.dispose();
    viewer = null;
  }
  row.body.replaceChildren();
}

/** Description and messages of a case. */
function makeText(data) {
  const parts = [];
  if (data.description) parts.push(make("p", { className: "description" }, data.description));
  if (data.messages.length > 0) {
    const help = data.help ? [make("p", {}, data.help)] : [];
    parts.push(
      make(
        "div",
        { className: `note ${data.status}` },
        ...data.messages.map((message) => make("p", {}, message)),
        ...help,
      ),
    );
  }
  return make("div", { className: "text" }, ...parts);
}

function metricTable(metrics) {
  const rows = metrics.map(({ name, value, limit, passes }) => {
    const { text, bound } = formatMetric(value, limit);
    const verdict = !limit ? "" : passes ? "passes" : "fails";
    return make(
      "tr",
      { className: verdict },
      make("th", { scope: "row" }, name),
      make("td", {}, text),
      make("td", {}, bound),
      make("td", {}, verdict),
    );
  });
  const head = make(
    "tr",
    {},
    ...["Metric", "Value", "Limit", ""].map((text) => make("th", { scope: "col" }, text)),
  );
  return make("table", { className: "all-metrics" }, head, ...rows);
}

function showFilter(cases) {
  const count = (status) => cases.filter((c) => c.status === status).length;
  const choices = [["all", `All ${cases.length}`]];
  for (const [status, { mark, word }] of Object.entries(STATUSES)) {
    if (count(status) > 0)
      choices.push([
        status,
        make("i", { className: status, "aria-hidden": "true" }, mark),
        ` ${word} ${count(status)}`,
      ]);
  }
  let selected = "all";
  const apply = () => {
    const query = page.search.value.trim().toLowerCase();
    for (const { data, item } of rows) {
      item.hidden =
        (selected !== "all" && data.status !== selected) ||
        !`${data.name} ${data.description}`.toLowerCase().includes(query);
    }
    page.noMatch.hidden = rows.some((row) => !row.item.hidden);
  };
  fillChoice(page.statuses, "status", choices, selected, (status) => {
    selected = status;
    apply();
  });
  page.search.addEventListener("input", apply);
  page.search.form.addEventListener("submit", (event) => event.preventDefault());
}

/** Opens the case `step` visible rows below the open one. */
function openNext(step) {
  const visible = rows.filter((row) => !row.item.hidden);
  const index = visible.findIndex((row) => row.details.open);
  const next = visible[index < 0 ? (step > 0 ? 0 : visible.length - 1) : index + step];
  if (!next) return;
  next.userOpened = true;
  next.details.open = true;
  next.summary.focus({ preventScroll: true });
}

listenToKeys({
  j: () => openNext(1),
  k: () => openNext(-1),
  t: () => theme.toggle(),
  "?": () => page.keys.showModal(),
  e: () => viewer?.setExposure(settings.stops + 0.5),
  E: () => viewer?.setExposure(settings.stops - 0.5),
  x: () => viewer?.setExposure(0),
  "+": () => viewer?.stage.zoomBy(2),
  "=": () => viewer?.stage.zoomBy(2),
  "-": () => viewer?.stage.zoomBy(-2),
  0: () => viewer?.stage.fit(),
  f: () => viewer?.swapImages(),
  w: () => viewer?.selectWorstPixel(),
  r: () => viewer?.setChannel(0),
  g: () => viewer?.setChannel(1),
  b: () => viewer?.setChannel(2),
  c: () => viewer?.setChannel("rgb"),
});

for (const [keys, action] of KEYS) {
  page.keys
    .querySelector("dl")
    .append(
      make("dt", {}, ...keys.split("  ").map((key) => make("kbd", {}, key))),
      make("dd", {}, action),
    );
}
page.help.addEventListener("click", () => page.keys.showModal());
theme.start();
