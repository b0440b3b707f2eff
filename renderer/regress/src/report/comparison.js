"use strict";
// The page: pictures side by side, plots of their errors, and a table. All strings are inserted as
// text, never as markup.

/** What the panes show of each picture. */
const VIEWS = [
  ["picture", "Pictures"],
  ["difference", "Difference"],
  ["flip", "ꟻLIP"],
];

/** Smallest width of a pane in CSS pixels, where the window is not narrower. */
const MIN_PANE = 260;

/** The data of the page. */
let report = null;
/** The pictures side by side. */
let gallery = null;

/** Called by the script with the data. */
function showComparison(data) {
  report = data;
  const { reference, size, version, pictures } = data;
  document.title = `Comparison with ${reference}`;
  const facts = [
    `reference ${reference}`,
    `${pictures.length} ${pictures.length === 1 ? "picture" : "pictures"}`,
    `${size[0]} × ${size[1]} pixels`,
    `Lightbound ${version}`,
  ];
  document.getElementById("about").append(...facts.map((fact) => make("span", {}, fact)));
  document.getElementById("table").append(makeTable(data));
  showPlots(data);
  gallery = new Gallery(document.getElementById("pictures"), data);
}

/** Decodes a picture or the reference; called by its script. */
function receivePicture(index, { pixels, flip }) {
  pendingLoads.get(index)?.({ pixels: floats(pixels), flip: flip ? floats(flip) : null });
  pendingLoads.delete(index);
}

/** The names of the series, in the order of the pictures. */
function seriesNames(pictures) {
  return [...new Set(pictures.map((picture) => picture.series))];
}

/** The groups, such as times, with pictures; without any, one group. */
function groupNames(pictures) {
  return [...new Set(pictures.map((picture) => picture.group))];
}

/** A number by which values of a metric are ordered, the best first. */
function rankOf(metric, value) {
  const number = Number(value);
  if (Number.isNaN(number)) return Infinity;
  return { lowest: number, highest: -number, smallest: Math.abs(number) }[metric.rank];
}

/** A row for each picture; the best value within each group is bold. */
function makeTable({ metrics, pictures }) {
  const heads = ["", "Picture", "Time, s", "Samples", ...metrics.map((metric) => metric.name)];
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)));
  const best = new Map();
  for (const metric of metrics)
    for (const group of groupNames(pictures)) {
      const ranks = pictures
        .filter((picture) => picture.group === group && metric.name in picture.metrics)
        .map((picture) => rankOf(metric, picture.metrics[metric.name]));
      if (ranks.length > 1) best.set(`${metric.name} ${group}`, Math.min(...ranks));
    }
  const cell = (metric, picture) => {
    if (!(metric.name in picture.metrics)) return make("td");
    const value = picture.metrics[metric.name];
    const text = formatNumber(Number(value));
    const isBest = best.get(`${metric.name} ${picture.group}`) === rankOf(metric, value);
    return make("td", {}, isBest ? make("b", {}, text) : text);
  };
  const optional = (x) => make("td", {}, x === null ? "" : formatNumber(x, 3));
  const rows = pictures.map((picture) =>
    make(
      "tr",
      {},
      make("td", {}, picture.thumbnail ? make("img", { src: picture.thumbnail, alt: "" }) : ""),
      make("th", { scope: "row" }, picture.name),
      optional(picture.seconds),
      optional(picture.samples),
      ...metrics.map((metric) => cell(metric, picture)),
    ),
  );
  const table = make("table", { className: "pictures" }, head, ...rows);
  return make("div", { className: "scroll" }, table);
}

/** Shows the plots if there are pictures with times or samples. */
function showPlots({ metrics, pictures }) {
  const axes = [
    ["seconds", "rendering time, s"],
    ["samples", "samples per pixel"],
  ].filter(([key]) => pictures.filter((picture) => picture[key] > 0).length > 1);
  // Logarithms need positive numbers.
  const plotted = metrics.filter(
    (metric) =>
      metric.rank === "lowest" && pictures.some((p) => Number(p.metrics[metric.name]) > 0),
  );
  if (axes.length === 0 || plotted.length === 0) return;
  const section = document.getElementById("plots");
  const names = plotted.map((metric) => metric.name);
  let metric = names.includes("relmse") ? "relmse" : names[0];
  let axis = axes[0];
  const host = make("div");
  const legend = make("ul", { className: "legend" });
  const save = makeButton("Save the plot as SVG", "Save SVG", () =>
    savePlot(host.querySelector("svg"), `${metric}-${axis[0]}.svg`),
  );
  const show = () => {
    const series = seriesNames(pictures).map((name) => ({
      name,
      points: pictures
        .filter((picture) => picture.series === name)
        .map((picture) => [picture[axis[0]], Number(picture.metrics[metric])])
        .filter(([x, y]) => x > 0 && y > 0 && y < Infinity)
        .sort(([a], [b]) => a - b),
    }));
    const drawn = series.filter(({ points }) => points.length > 0);
    save.disabled = drawn.length === 0;
    // The error of an unbiased estimate: its square is inversely proportional to the samples.
    const slope = { relmse: -1, rmse: -0.5 }[metric];
    host.replaceChildren(
      drawn.length > 0 ? drawPlot(drawn, axis[1], metric, slope) : "No picture has this error.",
    );
    legend.replaceChildren(
      ...drawn.map(({ name }, i) => make("li", {}, makeMarker(i), make("span", {}, name))),
    );
    if (slope !== undefined && drawn.length > 0)
      legend.append(make("li", { className: "slope" }, `dotted: slope ${slope}`.replace("-", "−")));
  };
  const select = make("select", { "aria-label": "Error" });
  select.append(...names.map((name) => make("option", { selected: name === metric }, name)));
  select.addEventListener("change", () => {
    metric = select.value;
    show();
  });
  const choice = make("fieldset", { className: "choice" }, make("legend", {}, "Axis"));
  const labels = { seconds: "Equal time", samples: "Equal samples" };
  fillChoice(
    choice,
    "axis",
    axes.map(([key]) => [key, labels[key]]),
    axis[0],
    (key) => {
      axis = axes.find(([name]) => name === key);
      show();
    },
  );
  section.append(
    make("h2", {}, "Convergence"),
    make("div", { className: "toolbar" }, make("label", {}, "Error ", select), choice, save),
    legend,
    host,
  );
  section.hidden = false;
  show();
}

/** Downloads a plot, black on a transparent background. */
function savePlot(svg, name) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("color", "black");
  const url = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
  make("a", { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** The pictures of a group and the reference, on one stage. */
class Gallery {
  constructor(host, { size: [width, height], pictures, metrics }) {
    Object.assign(this, { host, width, height, pictures });
    this.stops = 0;
    this.view = VIEWS[0][0];
    this.groups = groupNames(pictures);
    // The last has the least noise.
    this.group = this.groups.at(-1);
    const names = metrics.map((metric) => metric.name);
    this.metric = names.includes("relmse") ? "relmse" : names[0];
    /** Promises of images, by the index of the file. */
    this.loads = new Map();
    this.frame = make("div", { className: "panes gallery", tabIndex: 0, role: "application" });
    this.frame.setAttribute("aria-label", "Pictures; arrow keys move the selected pixel");
    this.frame.style.setProperty("--aspect", `${width} / ${height}`);
    this.readout = make("dl", {
      className: "readout",
      "aria-label": "Values of the selected pixel",
    });
    this.stage = new Stage(this.frame, width, height, (change) => this.onStageChange(change));
    this.exposure = new ExposureControl((stops) => this.setExposure(stops));
    this.zoom = new ZoomControl(this.stage);
    host.append(this.toolbar(), this.frame, this.readout);
    this.observer = new ResizeObserver(() => this.layOut());
    this.observer.observe(host);
    this.exposure.show(0);
    this.zoom.show(this.stage);
    this.build();
    this.stage.selectPixel([width / 2, height / 2]);
  }

  toolbar() {
    const views = make("fieldset", { className: "choice" }, make("legend", {}, "View"));
    const available = VIEWS.filter(
      ([view]) => view !== "flip" || this.pictures.some((picture) => picture.hasFlip),
    );
    fillChoice(views, "view", available, this.view, (view) => {
      this.view = view;
      this.paint();
    });
    const toolbar = make("div", { className: "toolbar", role: "group", "aria-label": "View" });
    if (this.groups.length > 1) {
      const groups = make("fieldset", { className: "choice" }, make("legend", {}, "Group"));
      const choices = this.groups.map((group) => [group, group || "others"]);
      fillChoice(groups, "group", choices, this.group, (group) => {
        this.group = group;
        this.build();
      });
      toolbar.append(groups);
    }
    toolbar.append(views, this.exposure.element, this.zoom.element);
    return toolbar;
  }

  /** Makes the panes of the group: the reference, and each picture. */
  build() {
    this.stage.clear();
    const shown = this.pictures.filter((picture) => picture.group === this.group);
    const panes = [{ name: "Reference", index: 0, file: report.referenceFile }];
    for (const picture of shown)
      panes.push({
        name: this.group ? picture.series : picture.name,
        value: picture.metrics[this.metric],
        index: this.pictures.indexOf(picture) + 1,
        file: picture.imagesFile,
      });
    this.panes = panes.map((pane) => this.makePane(pane));
    this.frame.replaceChildren(...this.panes.map((pane) => pane.figure));
    this.layOut();
    this.paint();
  }

  makePane({ name, value, index, file }) {
    const canvas = make("canvas", { role: "img", "aria-label": name });
    const metric = value === undefined ? "" : `${this.metric} ${formatNumber(Number(value))}`;
    const figure = make(
      "figure",
      { className: "pane" },
      make("figcaption", {}, make("span", {}, name), make("span", {}, metric)),
      make("div", { className: "screen" }, canvas),
    );
    return { name, index, file, figure, canvas: this.stage.add(canvas), images: null };
  }

  /** Loads the images of a file once. */
  load(index, file) {
    if (!this.loads.has(index)) this.loads.set(index, loadImages(index, file));
    return this.loads.get(index);
  }

  /** Repaints all panes with the current settings, as soon as their pixels are loaded. */
  async paint() {
    const panes = this.panes;
    try {
      const loads = panes.map((pane) => this.load(pane.index, pane.file));
      const loaded = await Promise.all(loads);
      // Another group may be shown in the meantime.
      if (panes !== this.panes) return;
      panes.forEach((pane, i) => {
        const { pixels, flip } = loaded[i];
        const reference = loaded[0].pixels;
        pane.images ??= new CaseImages(this.width, this.height, reference, pixels, flip);
      });
      // The panes share a range, which takes a moment to find.
      const typical = () => Math.max(...panes.map(({ images }) => images.typicalDifference()));
      const range = this.view === "difference" ? typical() || 1 : 1;
      for (const pane of panes) pane.canvas.images = [this.paintPane(pane, range)];
      this.stage.redraw();
      this.showProbe();
    } catch (error) {
      this.frame.replaceChildren(make("p", { className: "note error" }, error.message));
    }
  }

  paintPane({ images, index }, range) {
    if (index > 0 && this.view === "difference") return images.paintDifference(range, "rgb");
    if (index > 0 && this.view === "flip" && images.flip) return images.paintFlip(1);
    return images.paintLinear(images.result, this.stops, "rgb");
  }

  /** Makes the panes as large as possible, in as many columns as fit. */
  layOut() {
    if (!this.panes) return;
    const available = this.host.clientWidth;
    const columns = Math.min(
      this.panes.length,
      Math.max(1, Math.floor((available + GAP) / (MIN_PANE + GAP))),
      5,
    );
    const width = (available - (columns - 1) * GAP) / columns;
    const scale = (width * devicePixelRatio) / this.width;
    const pane = ((scale >= 1 ? Math.floor(scale) : scale) * this.width) / devicePixelRatio;
    this.frame.style.setProperty("--pane", `${pane}px`);
    this.frame.style.gridTemplateColumns = `repeat(${columns}, auto)`;
  }

  setExposure(stops) {
    this.stops = clampStops(stops);
    this.exposure.show(this.stops);
    this.paint();
  }

  onStageChange(change) {
    if (change === "probe") this.showProbe();
    else if (change === "zoom") this.zoom.show(this.stage);
  }

  /** Shows the values of the selected pixel in each pane. */
  showProbe() {
    const { probe } = this.stage;
    const row = (name, values) =>
      make("div", {}, make("dt", {}, name), ...values.map((value) => make("dd", {}, value)));
    const rows = [row("Pixel", probe.map(String))];
    for (const { name, images } of this.panes ?? [])
      if (images) {
        const values = [...images.pixel(images.result, probe)];
        rows.push(
          row(
            name,
            values.map((x) => formatNumber(x)),
          ),
        );
      }
    this.readout.replaceChildren(...rows);
  }
}

listenToKeys({
  t: () => theme.toggle(),
  e: () => gallery?.setExposure(gallery.stops + 0.5),
  E: () => gallery?.setExposure(gallery.stops - 0.5),
  x: () => gallery?.setExposure(0),
  "+": () => gallery?.stage.zoomBy(2),
  "=": () => gallery?.stage.zoomBy(2),
  "-": () => gallery?.stage.zoomBy(-2),
  0: () => gallery?.stage.fit(),
});
theme.start();
