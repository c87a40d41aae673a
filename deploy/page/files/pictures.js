// Images as the numbers of an input, and back.

/** Whether an input takes images: [batch, height, width, channels]. */
export const isPicture = ({ dtype, shape }) =>
  shape.length === 4 && [1, 3, 4].includes(shape[3]) && !["string", "bool"].includes(dtype);

/** Mean and scale of each channel: a pixel of 0 to 255 becomes (pixel - mean) / scale. */
function scaling({ dtype, pixels }, channel) {
  if (pixels) {
    const of = (values) => values[Math.min(channel, values.length - 1)];
    return [of(pixels.mean), of(pixels.std)];
  }
  return [0, dtype.startsWith("float") ? 255 : 1];
}

const LIMITS = { int8: [-128, 127], uint8: [0, 255] };

/** The numbers of an image, resized to the input's size. */
export async function numbersOf(file, input) {
  const image = await createImageBitmap(file);
  const { dtype, shape } = input;
  const [height, width, channels] = [shape[1] ?? image.height, shape[2] ?? image.width, shape[3]];
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, width, height);
  const pixels = context.getImageData(0, 0, width, height).data;
  const [least, most] = LIMITS[dtype] ?? [-Infinity, Infinity];
  const of = (pixel, channel) => {
    const [mean, std] = scaling(input, channel);
    let value = (pixel - mean) / std;
    if (input.scale) value = value / input.scale + input.zero;
    return dtype.startsWith("float") ? value : Math.min(most, Math.max(least, Math.round(value)));
  };
  const rows = [];
  for (let y = 0; y < height; y += 1) {
    const row = [];
    for (let x = 0; x < width; x += 1) {
      const i = 4 * (y * width + x);
      const [r, g, b, a] = pixels.subarray(i, i + 4);
      row.push(channels === 1
        ? [of(0.299 * r + 0.587 * g + 0.114 * b, 0)]
        : [r, g, b, a].slice(0, channels).map(of));
    }
    rows.push(row);
  }
  return Array.from({ length: shape[0] ?? 1 }, () => rows);
}

/** Show the numbers of a field as an image: the smallest is dark, the largest bright. */
export function paint(canvas, text, { shape }) {
  let rows;
  try {
    [rows] = JSON.parse(text);
  } catch {
    return; // the user is typing
  }
  const height = rows?.length;
  const width = rows?.[0]?.length;
  const flat = [rows].flat(Infinity);
  const channels = shape[3];
  if (!height || !width || flat.length !== height * width * channels) return;
  let [least, most] = [Infinity, -Infinity];
  for (const value of flat) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const gray = (value) => (most > least ? ((value - least) / (most - least)) * 255 : 127);
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i += 1) {
    for (let channel = 0; channel < 3; channel += 1) {
      image.data[4 * i + channel] = gray(flat[i * channels + (channels === 1 ? 0 : channel)]);
    }
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}
