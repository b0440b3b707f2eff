"use strict";
// The viewer of an open case: the controls, the images on a stage, and the values of the selected
// pixel.

/** Settings shared by all cases. */
const settings = { stops: 0, channel: "rgb" };

class Viewer {
  constructor(host, images) {
    this.images = images;
    /** Ranges of the colour maps: −range to range for the difference, 0 to range for ꟻLIP. */
    this.ranges = { difference: images.typicalDifference() || 1, flip: 1 };
    this.canvases = {};
    this.readout = make("dl", {
      className: "readout",
      "aria-label": "Values of the selected pixel",
    });
    this.frame = make("div", { className: "panes", tabIndex: 0, role: "application" });
    this.frame.setAttribute("aria-label", "Images; arrow keys move the selected pixel");
    this.stage = new Stage(this.frame, images.width, images.height, (change) =>
      this.onStageChange(change),
    );
    this.build(host);
    this.observer = new ResizeObserver(() => this.layOut());
    this.observer.observe(host);
    this.layOut();
    this.paint();
    this.stage.selectPixel(images.worstPixel());
    this.onStageChange("zoom");
    this.onStageChange("split");
  }

  dispose() {
    this.observer.disconnect();
    this.stage.dispose();
  }

  build(host) {
    const { width, height, flip } = this.images;
    this.host = host;
    this.frame.style.setProperty("--aspect", `${width} / ${height}`);
    this.handle = this.makeHandle();
    this.frame.append(this.pane("split", "◂ Reference", make("span", {}, "Result ▸"), this.handle));
    this.frame.append(this.pane("reference", "Reference", ""), this.pane("result", "Result", ""));
    const differences = Array.from({ length: 16 }, (_, i) =>
      roundUp(this.ranges.difference * 10 ** ((i - 9) / 3) * 0.99),
    );
    this.frame.append(
      this.pane(
        "difference",
        "Difference",
        this.scale("difference", DIVERGING, "Range of the difference, ±", differences),
      ),
    );
    const errors = [1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01];
    if (flip)
      this.frame.append(
        this.pane("flip", "ꟻLIP", this.scale("flip", MAGMA, "Range of the ꟻLIP error", errors)),
      );
    else this.frame.append(make("p", { className: "pane none" }, "No ꟻLIP map"));
    host.append(this.toolbar(), this.readout, this.frame);
  }

  /** A colour map as a bar between its limits; the upper limit can be selected. */
  scale(name, map, label, ranges) {
    const low = make("span", { className: "low" });
    const select = make("select", { "aria-label": label, title: label });
    select.append(
      ...ranges.map((range) =>
        make(
          "option",
          { value: range, selected: range === this.ranges[name] },
          formatNumber(range),
        ),
      ),
    );
    const show = () =>
      low.replaceChildren(name === "difference" ? `−${formatNumber(this.ranges[name])}` : "0");
    select.addEventListener("change", () => {
      this.ranges[name] = Number(select.value);
      show();
      this.paintMaps();
    });
    show();
    const bar = make("span", { className: "ramp" });
    bar.style.backgroundImage = gradient(map);
    return make("span", { className: "scale" }, low, bar, select);
  }

  /**
   * Makes the panes as large as possible; the split view is as tall as two rows of other panes.
   * Magnified images have integer scales.
   */
  layOut() {
    const { width, height } = this.images;
    const narrow = matchMedia("(max-width: 48rem)").matches;
    const available = this.host.clientWidth;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    /** The largest width of an image within a maximum width and height. */
    const fit = (maxWidth, maxHeight) => {
      const scale = (Math.min(maxWidth, (maxHeight * width) / height) * devicePixelRatio) / width;
      return ((scale >= 1 ? Math.floor(scale) : scale) * width) / devicePixelRatio;
    };
    // Both rows and the controls above them fit the window, unless they would be too small.
    const rowHeight = narrow ? Infinity : Math.max((innerHeight - 17 * rem) / 2, 9 * rem);
    const pane = fit((available - GAP) / (narrow ? 2 : 4), rowHeight);
    const split = narrow
      ? fit(available, rowHeight)
      : fit(available - 2 * (pane + GAP), 2 * rowHeight + GAP + 1.7 * rem);
    this.frame.style.setProperty("--pane", `${pane}px`);
    this.frame.style.setProperty("--split", `${split}px`);
  }

  pane(name, title, captionEnd, ...overlays) {
    const label = name === "split" ? "Reference left of the slider, result right of it" : title;
    const canvas = make("canvas", { role: "img", "aria-label": label });
    this.canvases[name] = this.stage.add(canvas);
    const caption = make("figcaption", {}, make("span", {}, title), captionEnd);
    return make(
      "figure",
      { className: `pane ${name}` },
      caption,
      make("div", { className: "screen" }, canvas, ...overlays),
    );
  }

  makeHandle() {
    const handle = make("div", {
      className: "handle",
      role: "slider",
      tabIndex: 0,
      "aria-label": "Fraction of the width that shows the reference",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
    });
    const drag = (event) => {
      const box = handle.parentElement.getBoundingClientRect();
      this.stage.setSplit((event.clientX - box.left) / box.width);
    };
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      handle.focus({ preventScroll: true });
      handle.setPointerCapture(event.pointerId);
    });
    handle.addEventListener(
      "pointermove",
      (event) => handle.hasPointerCapture(event.pointerId) && drag(event),
    );
    handle.addEventListener("keydown", (event) => {
      const split = this.stage.split;
      const step = event.shiftKey ? 0.1 : 0.01;
      const to = {
        ArrowLeft: split - step,
        ArrowDown: split - step,
        ArrowRight: split + step,
        ArrowUp: split + step,
        PageDown: split - 0.1,
        PageUp: split + 0.1,
        Home: 0,
        End: 1,
      }[event.key];
      if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      this.stage.setSplit(to);
    });
    return handle;
  }

  toolbar() {
    this.exposure = new ExposureControl((stops) => this.setExposure(stops));
    this.zoom = new ZoomControl(this.stage);
    const channels = [
      ["rgb", "RGB"],
      [0, "R"],
      [1, "G"],
      [2, "B"],
    ];
    this.channels = make("fieldset", { className: "choice" }, make("legend", {}, "Channel"));
    fillChoice(this.channels, "channel", channels, settings.channel, (channel) =>
      this.setChannel(channel),
    );
    return make(
      "div",
      { className: "toolbar", role: "group", "aria-label": "View" },
      this.exposure.element,
      this.channels,
      this.zoom.element,
      makeButton("Select the pixel with the largest difference", "Worst pixel", () =>
        this.selectWorstPixel(),
      ),
    );
  }

  setExposure(stops) {
    settings.stops = clampStops(stops);
    this.paintLinear();
  }

  setChannel(channel) {
    settings.channel = channel;
    const selected = [...this.channels.querySelectorAll("input")].find(
      (input) => input.value === String(channel),
    );
    selected.checked = true;
    this.paint();
  }

  selectWorstPixel() {
    this.stage.revealPixel(this.images.worstPixel());
  }

  /** Switches between reference and result in the split view. */
  swapImages() {
    this.stage.setSplit(this.stage.split > 0.5 ? 0 : 1);
  }

  /** Repaints all images with the current settings. */
  paint() {
    this.paintLinear();
    this.paintMaps();
  }

  /** Repaints reference and result. */
  paintLinear() {
    const { stops, channel } = settings;
    this.exposure.show(stops);
    const p = this.images;
    const [reference, result] = [p.reference, p.result].map((values) =>
      p.paintLinear(values, stops, channel),
    );
    this.canvases.reference.images = [reference];
    this.canvases.result.images = [result];
    this.canvases.split.images = [result, reference];
    this.stage.redraw();
  }

  /** Repaints the difference and the ꟻLIP map, which do not depend on the exposure. */
  paintMaps() {
    const p = this.images;
    this.canvases.difference.images = [p.paintDifference(this.ranges.difference, settings.channel)];
    if (p.flip) this.canvases.flip.images = [p.paintFlip(this.ranges.flip)];
    this.stage.redraw();
  }

  onStageChange(change) {
    if (change === "split") this.showSplit();
    else if (change === "probe") this.showProbe();
    else this.zoom.show(this.stage);
  }

  showSplit() {
    const percent = Math.round(this.stage.split * 100);
    this.handle.style.left = `${this.stage.split * 100}%`;
    this.handle.setAttribute("aria-valuenow", percent);
    this.handle.setAttribute("aria-valuetext", `${percent} % reference, ${100 - percent} % result`);
  }

  showProbe() {
    const { probe } = this.stage;
    const p = this.images;
    const row = (name, values) =>
      make(
        "div",
        {},
        make("dt", {}, name),
        ...[...values].map((value) =>
          make("dd", {}, typeof value === "string" ? value : formatNumber(value)),
        ),
      );
    const rows = [row("Pixel", probe.map(String))];
    for (const [name, values] of [
      ["Reference", p.reference],
      ["Result", p.result],
      ["Difference", p.difference],
    ])
      rows.push(row(name, p.pixel(values, probe)));
    if (p.flip) rows.push(row("ꟻLIP", [p.flip[probe[1] * p.width + probe[0]]]));
    this.readout.replaceChildren(...rows);
  }
}
