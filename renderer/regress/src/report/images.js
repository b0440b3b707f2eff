"use strict";
// Images, which are loaded when they are shown, decoded, and drawn with the current settings.

/** The folder of this file, which also contains the images. */
const FOLDER = document.currentScript.src.replace(/[^/]*$/, "");

/** The `resolve` functions of the loads in progress, by index of the case or the picture. */
const pendingLoads = new Map();

/**
 * Loads images. Pages opened from disk may not read files, but may load scripts. The script of a
 * case calls `receiveImages`, that of a compared picture `receivePicture`.
 */
function loadImages(index, file) {
  return new Promise((resolve, reject) => {
    pendingLoads.set(index, resolve);
    const script = document.createElement("script");
    script.src = FOLDER + file;
    script.onload = () => {
      script.remove();
      if (pendingLoads.get(index) === resolve)
        reject(new Error(`${file} is damaged; create the report again`));
    };
    script.onerror = () =>
      reject(new Error(`${file} cannot be loaded; was its folder moved or removed?`));
    document.head.append(script);
  });
}

/** Called by the script of a case with its images. */
function receiveImages(index, data) {
  const { width, height } = data;
  const flip = data.flip ? floats(data.flip) : null;
  pendingLoads.get(index)?.(
    new CaseImages(width, height, floats(data.reference), floats(data.result), flip),
  );
  pendingLoads.delete(index);
}

/** Decodes little-endian 32-bit floats from base64, on a little-endian platform. */
function floats(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

/**
 * Reference, result and ꟻLIP map of a case. Colours are linear, with three floats per pixel, row by
 * row from the top.
 */
class CaseImages {
  constructor(width, height, reference, result, flip) {
    Object.assign(this, { width, height, reference, result, flip });
    this.difference = result.map((x, i) => x - reference[i]);
  }

  /** Red, green and blue of a pixel. */
  pixel(values, [x, y]) {
    const first = 3 * (y * this.width + x);
    return values.subarray(first, first + 3);
  }

  /** The pixel with the largest difference; non-finite differences count as infinite. */
  worstPixel() {
    let largest = -1;
    let index = 0;
    this.difference.forEach((d, i) => {
      // The difference of equal infinities is NaN.
      if (Object.is(this.reference[i], this.result[i])) return;
      const magnitude = Number.isNaN(d) ? Infinity : Math.abs(d);
      if (magnitude > largest) [largest, index] = [magnitude, Math.floor(i / 3)];
    });
    return [index % this.width, Math.floor(index / this.width)];
  }

  /** The range that covers 99.5 % of the differences, rounded up; 0 if there are none. */
  typicalDifference() {
    // Subsample large images, with a stride that visits all channels.
    const step = 3 * Math.ceil(this.difference.length / 3e6) - 2;
    const values = this.difference.filter((_, i) => i % step === 0);
    const magnitudes = values
      .map(Math.abs)
      .filter((x) => x > 0 && x < Infinity)
      .sort();
    const index = magnitudes.length - 1 - Math.floor(0.005 * values.length);
    const magnitude = magnitudes[Math.max(index, Math.floor(magnitudes.length / 2))];
    return magnitude ? roundUp(magnitude) : 0;
  }

  /** Creates a canvas; `colour` maps the index of a pixel to sRGB codes. */
  paint(colour) {
    const canvas = document.createElement("canvas");
    canvas.width = this.width;
    canvas.height = this.height;
    const image = new ImageData(this.width, this.height);
    for (let i = 0, at = 0; i < this.width * this.height; i++, at += 4) {
      [image.data[at], image.data[at + 1], image.data[at + 2]] = colour(i);
      image.data[at + 3] = 255;
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  /**
   * Paints an image at an exposure of `stops`. `channel` is "rgb", or the index of a channel, which
   * is shown in grey.
   */
  paintLinear(values, stops, channel) {
    const gain = 2 ** stops;
    const [red, green, blue] = channel === "rgb" ? [0, 1, 2] : Array(3).fill(channel);
    const code = [0, 0, 0];
    return this.paint((i) => {
      const [r, g, b] = [values[3 * i + red], values[3 * i + green], values[3 * i + blue]];
      if (!Number.isFinite(r + g + b)) return NOT_FINITE;
      [code[0], code[1], code[2]] = [srgbCode(r * gain), srgbCode(g * gain), srgbCode(b * gain)];
      return code;
    });
  }

  /**
   * Paints result − reference from −`range` to `range`; for "rgb", the channel with the largest
   * difference.
   */
  paintDifference(range, channel) {
    return this.paint((i) => {
      const d = channel === "rgb" ? this.largestDifference(i) : this.difference[3 * i + channel];
      return Number.isFinite(d) ? colourAt(DIVERGING, 0.5 + 0.5 * (d / range)) : NOT_FINITE;
    });
  }

  /** The difference with the largest magnitude among the channels; NaN if one is NaN. */
  largestDifference(i) {
    const [r, g, b] = this.difference.subarray(3 * i, 3 * i + 3);
    if (Number.isNaN(r + g + b)) return NaN;
    const larger = Math.abs(g) > Math.abs(r) ? g : r;
    return Math.abs(b) > Math.abs(larger) ? b : larger;
  }

  /** Paints the ꟻLIP error from 0 to `range`. */
  paintFlip(range) {
    return this.paint((i) =>
      Number.isFinite(this.flip[i]) ? colourAt(MAGMA, this.flip[i] / range) : NOT_FINITE,
    );
  }
}
