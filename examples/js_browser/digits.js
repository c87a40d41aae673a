// The drawing is sent to the model after each stroke; nothing leaves the page.
import * as ort from "./model/ort/ort.wasm.min.mjs";

const SIDE = 8; // pixels of the model's image
const WHITE = 16; // its brightest value
const board = document.getElementById("board");
const answer = document.getElementById("answer");
const pen = board.getContext("2d", { willReadFrequently: true });
pen.lineWidth = 14;
pen.lineCap = pen.lineJoin = "round";
pen.strokeStyle = "#fff";

ort.env.wasm.wasmPaths = new URL("model/ort/", import.meta.url).href;
ort.env.wasm.numThreads = 1;
const session = await ort.InferenceSession.create("model/model.onnx");
const [input] = session.inputNames;
const [output] = session.outputNames;
answer.textContent = "Draw.";

/** The mean of each square block of the board: 8 × 8 values from 0 to 16. */
function image() {
  const { data, width } = pen.getImageData(0, 0, board.width, board.height);
  const step = board.width / SIDE;
  const sums = new Float32Array(SIDE * SIDE);
  for (let i = 0; i < data.length; i += 4) {
    const [x, y] = [(i / 4) % width, Math.floor(i / 4 / width)];
    sums[Math.floor(y / step) * SIDE + Math.floor(x / step)] += data[i] / 255;
  }
  return sums.map((sum) => (sum / step ** 2) * WHITE);
}

async function guess() {
  const tensor = new ort.Tensor("float32", image(), [1, SIDE, SIDE, 1]);
  const { [output]: scores } = await session.run({ [input]: tensor });
  const row = Array.from(scores.data);
  answer.textContent = `This is a ${row.indexOf(Math.max(...row))}.`;
}

const place = ({ offsetX, offsetY }) => [offsetX, offsetY].map((v) => (v * board.width) / 256);
board.addEventListener("pointerdown", (event) => {
  board.setPointerCapture(event.pointerId);
  pen.beginPath();
  pen.moveTo(...place(event));
});
board.addEventListener("pointermove", (event) => {
  if (event.buttons === 0) return;
  pen.lineTo(...place(event));
  pen.stroke();
});
board.addEventListener("pointerup", guess);
document.getElementById("clear").addEventListener("click", () => {
  pen.clearRect(0, 0, board.width, board.height);
  answer.textContent = "Draw.";
});
