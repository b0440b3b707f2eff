"use strict";
// The pictures of a case: asked for when it is opened, decoded, and painted as the settings want them.

/** Where this file lies; the pictures lie beside it. */
const FOLDER = document.currentScript.src.replace(/[^/]*$/, "");

/** Who waits for the pictures of which case. */
const waiting = new Map();

/** Promises the pictures of a case. Pages from disk may not read files, but they may run scripts, which call `takePictures`. */
function loadPictures(index, file) {
  return new Promise((resolve, reject) => {
    waiting.set(index, resolve);
    const script = document.createElement("script");
    script.src = FOLDER + file;
    script.onload = () => {
      script.remove();
      if (waiting.get(index) === resolve) reject(new Error(`${file} is damaged; write the report anew`));
    };
    script.onerror = () => reject(new Error(`${file} cannot be loaded; is it still beside the page?`));
    document.head.append(script);
  });
}

/** Called by the file of a case. */
function takePictures(index, data) {
  const { width, height } = data;
  const flip = data.flip ? floats(data.flip) : null;
  waiting.get(index)?.(new Pictures(width, height, floats(data.reference), floats(data.result), flip));
  waiting.delete(index);
}

/** 32-bit floats from base64; little-endian there, as is every machine that browsers run on. */
function floats(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

/** Reference, result and ꟻLIP map of a case: linear colours, three floats a pixel, row by row from the top. */
class Pictures {
  constructor(width, height, reference, result, flip) {
    Object.assign(this, { width, height, reference, result, flip });
    this.difference = result.map((x, i) => x - reference[i]);
  }

  /** Red, green and blue of a pixel. */
  pixel(values, [x, y]) {
    const at = 3 * (y * this.width + x);
    return values.subarray(at, at + 3);
  }

  /** The pixel that differs most; what is not finite differs more than all else. */
  worstPixel() {
    let worst = -1;
    let at = 0;
    this.difference.forEach((d, i) => {
      // Infinite in both is a NaN that says nothing.
      if (Object.is(this.reference[i], this.result[i])) return;
      const size = Number.isNaN(d) ? Infinity : Math.abs(d);
      if (size > worst) [worst, at] = [size, Math.floor(i / 3)];
    });
    return [at % this.width, Math.floor(at / this.width)];
  }

  /** A range for the difference that all but half a percent of the values are within; 0 where nothing differs. */
  usualDifference() {
    // Large pictures are judged by some of their values, in steps that meet all channels.
    const step = 3 * Math.ceil(this.difference.length / 3e6) - 2;
    const values = this.difference.filter((_, i) => i % step === 0);
    const sizes = values.map(Math.abs).filter((x) => x > 0 && x < Infinity).sort();
    const place = sizes.length - 1 - Math.floor(0.005 * values.length);
    const size = sizes[Math.max(place, Math.floor(sizes.length / 2))];
    return size ? roundUp(size) : 0;
  }

  /** The colour of each pixel, by a function from its index to red, green and blue, as a canvas. */
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

  /** A picture as the eye sees it, made brighter by `stops`; `channel` is "rgb" or the place of one, shown as grey. */
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

  /** Result − reference, the map's ends at ± `range`; of all channels, the one that differs most. */
  paintDifference(range, channel) {
    return this.paint((i) => {
      const d = channel === "rgb" ? this.largest(i) : this.difference[3 * i + channel];
      return Number.isFinite(d) ? colourAt(DIVERGING, 0.5 + 0.5 * (d / range)) : NOT_FINITE;
    });
  }

  /** The difference that is largest in size among the channels of a pixel; NaN if one is. */
  largest(i) {
    const [r, g, b] = this.difference.subarray(3 * i, 3 * i + 3);
    if (Number.isNaN(r + g + b)) return NaN;
    const most = Math.abs(g) > Math.abs(r) ? g : r;
    return Math.abs(b) > Math.abs(most) ? b : most;
  }

  /** ꟻLIP's error, from 0 to `range`. */
  paintFlip(range) {
    return this.paint((i) => (Number.isFinite(this.flip[i]) ? colourAt(MAGMA, this.flip[i] / range) : NOT_FINITE));
  }
}
