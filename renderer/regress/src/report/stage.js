"use strict";
// The stage: synchronized canvases that show the same region of several images of equal size. It
// manages the zoom, the selected pixel (the probe), and the slider in the canvas that shows two
// images. Magnified images have integer scales in device pixels, so that all pixels are squares of
// the same size.

/** Maximum zoom step. A step is a factor of √2, so the maximum zoom is 64×. */
const MAX_ZOOM_STEP = 12;

class Stage {
  /**
   * `element` contains the canvases. `onChange` is called with "probe", "zoom" or "split" after a
   * change.
   */
  constructor(element, width, height, onChange) {
    Object.assign(this, { element, width, height, onChange });
    this.zoomStep = 0;
    this.centre = [width / 2, height / 2];
    this.probe = [0, 0];
    this.split = 0.5;
    this.panes = [];
    this.wheelDelta = 0;
    this.observer = new ResizeObserver(() => this.redraw());
    this.addListeners();
  }

  /**
   * Adds a canvas. It shows one image, or two images with the second one left of the slider. Keys
   * and buttons zoom relative to the first canvas.
   */
  add(canvas) {
    const pane = { canvas, images: [] };
    this.panes.push(pane);
    this.observer.observe(canvas);
    return pane;
  }

  /** Removes all canvases. */
  clear() {
    this.panes.forEach(({ canvas }) => this.observer.unobserve(canvas));
    this.panes = [];
  }

  dispose() {
    this.observer.disconnect();
  }

  get zoom() {
    return 2 ** (this.zoomStep / 2);
  }

  /** Schedules one redraw of all canvases for the next frame. */
  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.panes.forEach((pane) => this.draw(pane));
    });
  }

  draw({ canvas, images }) {
    const box = canvas.getBoundingClientRect();
    const [width, height] = [box.width, box.height].map((n) => Math.round(n * devicePixelRatio));
    if (canvas.width !== width || canvas.height !== height)
      [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, width, height);
    const scale = this.scale(canvas);
    const [x, y] = this.origin(canvas);
    context.imageSmoothingEnabled = scale < 1;
    images.forEach((image, i) => {
      context.save();
      context.beginPath();
      context.rect(0, 0, i === 0 ? width : Math.round(this.split * width), height);
      context.clip();
      if (i > 0) context.clearRect(0, 0, width, height);
      context.drawImage(image, x, y, this.width * scale, this.height * scale);
      context.restore();
    });
    this.drawProbe(context, x, y, scale);
  }

  /** Draws a frame around the probe, in white and black so that it is visible on any background. */
  drawProbe(context, x, y, scale) {
    const line = Math.max(1, Math.round(devicePixelRatio));
    // Extend both sides by a whole number of device pixels, so that lines are sharp.
    const side = scale + 2 * Math.ceil(Math.max(0, 5 * line - scale) / 2);
    const [left, top] = [
      x + (this.probe[0] + 0.5) * scale - side / 2,
      y + (this.probe[1] + 0.5) * scale - side / 2,
    ];
    for (const [colour, grow] of [
      ["black", 1.5],
      ["white", 0.5],
    ]) {
      context.strokeStyle = colour;
      context.lineWidth = line;
      context.strokeRect(
        left - grow * line,
        top - grow * line,
        side + 2 * grow * line,
        side + 2 * grow * line,
      );
    }
  }

  /** Device pixels per image pixel. */
  scale(canvas, zoom = this.zoom) {
    // Rounding of the canvas size to CSS pixels must not reduce the scale.
    const fit = Math.min((canvas.width + 1) / this.width, (canvas.height + 1) / this.height);
    const scale = (fit >= 1 ? Math.floor(fit) : fit) * zoom;
    return scale >= 1 ? Math.round(scale) : scale || 1;
  }

  /**
   * Position of the image's upper left corner on the canvas. If the image is larger than the canvas,
   * it covers the entire canvas.
   */
  origin(canvas) {
    const scale = this.scale(canvas);
    const axis = (centre, pixels, extent) => {
      const margin = extent - pixels * scale;
      return Math.round(
        margin >= 0 ? margin / 2 : Math.max(margin, Math.min(0, extent / 2 - centre * scale)),
      );
    };
    return [
      axis(this.centre[0], this.width, canvas.width),
      axis(this.centre[1], this.height, canvas.height),
    ];
  }

  /** The image coordinates at the pointer. */
  imagePoint(canvas, { clientX, clientY }) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = this.origin(canvas);
    const scale = this.scale(canvas);
    const ratio = canvas.width / box.width;
    return [((clientX - box.left) * ratio - x) / scale, ((clientY - box.top) * ratio - y) / scale];
  }

  /** Zooms by a number of steps. The image point `fixed` keeps its position on the canvas. */
  zoomBy(steps, fixed = [this.probe[0] + 0.5, this.probe[1] + 0.5], canvas = this.panes[0].canvas) {
    const before = this.scale(canvas);
    const corner = this.origin(canvas);
    this.zoomStep = Math.max(0, Math.min(MAX_ZOOM_STEP, this.zoomStep + steps));
    const after = this.scale(canvas);
    this.centre = [0, 1].map((i) => {
      const extent = i === 0 ? canvas.width : canvas.height;
      return (extent / 2 - (corner[i] + fixed[i] * before)) / after + fixed[i];
    });
    this.clampCentre(canvas);
    this.onChange("zoom");
    this.redraw();
  }

  /** Shows the entire image. */
  fit() {
    this.zoomBy(-MAX_ZOOM_STEP);
  }

  /** Clamps the centre to its valid range, so that the next drag takes effect immediately. */
  clampCentre(canvas) {
    const scale = this.scale(canvas);
    const [x, y] = this.origin(canvas);
    this.centre = [(canvas.width / 2 - x) / scale, (canvas.height / 2 - y) / scale];
  }

  /** Moves the probe to the pixel closest to the given image coordinates. */
  selectPixel([x, y]) {
    const clamp = (v, n) => Math.max(0, Math.min(n - 1, Math.floor(v)));
    this.probe = [clamp(x, this.width), clamp(y, this.height)];
    this.onChange("probe");
    this.redraw();
  }

  /** Moves the probe to a pixel and scrolls it into view. */
  revealPixel(pixel) {
    this.selectPixel(pixel);
    const { canvas } = this.panes[0];
    const scale = this.scale(canvas);
    const halfExtent = [canvas.width, canvas.height].map((n) => Math.max(n / scale / 2 - 1, 0));
    this.centre = this.centre.map((c, i) =>
      Math.max(
        this.probe[i] + 0.5 - halfExtent[i],
        Math.min(this.probe[i] + 0.5 + halfExtent[i], c),
      ),
    );
    this.clampCentre(canvas);
  }

  /** Moves the slider to a fraction of the width. */
  setSplit(fraction) {
    this.split = Math.max(0, Math.min(1, fraction));
    this.onChange("split");
    this.redraw();
  }

  addListeners() {
    const on = (type, handler, options) => this.element.addEventListener(type, handler, options);
    const canvas = (event) => (event.target instanceof HTMLCanvasElement ? event.target : null);
    on("pointermove", (event) => {
      if (!canvas(event)) return;
      if (this.drag) this.dragTo(event);
      this.selectPixel(this.imagePoint(canvas(event), event));
    });
    on("pointerdown", (event) => {
      if (!canvas(event) || event.button !== 0) return;
      this.selectPixel(this.imagePoint(canvas(event), event));
      if (this.zoomStep === 0) return;
      canvas(event).setPointerCapture(event.pointerId);
      this.drag = { from: [event.clientX, event.clientY], centre: this.centre };
    });
    for (const type of ["pointerup", "pointercancel"]) on(type, () => (this.drag = undefined));
    on("dblclick", (event) => canvas(event) && this.fit());
    on("wheel", (event) => canvas(event) && this.onWheel(event), { passive: false });
    on("keydown", (event) => event.target === this.element && this.onKeyDown(event));
  }

  dragTo(event) {
    const factor = devicePixelRatio / this.scale(event.target);
    this.centre = [event.clientX, event.clientY].map(
      (v, i) => this.drag.centre[i] - (v - this.drag.from[i]) * factor,
    );
    this.clampCentre(this.panes[0].canvas);
  }

  /**
   * A notch of the wheel doubles or halves the zoom. If the entire image is visible, the wheel
   * scrolls the page instead of zooming out.
   */
  onWheel(event) {
    if (event.deltaY > 0 && this.zoomStep === 0) return;
    event.preventDefault();
    this.wheelDelta -= event.deltaY * [1, 33, 400][event.deltaMode];
    const steps = Math.trunc(this.wheelDelta / 50);
    this.wheelDelta -= 50 * steps;
    if (steps !== 0) this.zoomBy(steps, this.imagePoint(event.target, event), event.target);
  }

  /** Arrow keys move the probe by one pixel, or with Shift by ten. */
  onKeyDown(event) {
    const direction = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    }[event.key];
    if (!direction || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.revealPixel(this.probe.map((v, i) => v + direction[i] * (event.shiftKey ? 10 : 1)));
  }
}
