// The map of the pool on a canvas: 50,000 images move without a graphics card.
"use strict";

const CLASS_COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7a5195"]; // Okabe-Ito
const SHAPES = ["circle", "square", "triangle", "diamond"]; // a ninth class has the first colour and another shape
const CIVIDIS = [[0, 34, 78], [54, 72, 108], [124, 123, 120], [187, 174, 108], [254, 232, 56]]; // same for every eye
const PRESS_PIXELS = 5;
const DOT = 1.9; // pixels
const CELL = 200; // map units: points are looked up by cell

const box = document.getElementById("map");
const canvas = box.querySelector("canvas");
const hover = box.querySelector(".hover");
const pen = canvas.getContext("2d");
const colourBy = document.getElementById("colour");
const show = document.getElementById("show");

let data = null, cells = new Map(), queue = [], selected = -1, wanted = false;
const view = { x: 0, y: 0, scale: 1 };

function cividis(share) {
  const at = Math.min(0.9999, Math.max(0, share)) * (CIVIDIS.length - 1), low = Math.floor(at);
  const mix = CIVIDIS[low].map((c, i) => Math.round(c + (at - low) * (CIVIDIS[low + 1][i] - c)));
  return `rgb(${mix})`;
}

function classLook(number) {
  return { colour: CLASS_COLOURS[number % 8], shape: SHAPES[Math.floor(number / 8) % 4] };
}

function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function visible(i) {
  switch (show.value) {
    case "labelled": return data.label[i] >= 0;
    case "queue": return data.rank[i] >= 0;
    case "uncertain": return data.label[i] < 0 && data.uncertainty[i] >= 50;
    default: return true;
  }
}

function look(i) {
  const queued = data.rank[i] >= 0, labelled = data.label[i] >= 0;
  const size = queued ? 2.2 : labelled ? 1.6 : 1;
  if (colourBy.value === "uncertainty") return { colour: cividis(labelled ? 0 : data.uncertainty[i] / 100), shape: "circle", size, layer: queued ? 2 : labelled ? 1 : 0 };
  if (colourBy.value === "class") {
    const number = labelled ? data.label[i] : data.predicted[i];
    if (number < 0) return { colour: themed("--soft"), shape: "circle", size, layer: 0 };
    return { ...classLook(number), size, layer: queued ? 2 : labelled ? 1 : 0 };
  }
  if (queued) return { colour: "#d55e00", shape: "diamond", size: 2.4, layer: 3 };
  if (labelled) return { colour: "#0072b2", shape: "square", size: 1.8, layer: 2 };
  return data.uncertainty[i] >= 50 ? { colour: "#e69f00", shape: "circle", size: 1, layer: 1 } : { colour: themed("--soft"), shape: "circle", size: 1, layer: 0 };
}

let groups = [];

function regroup() {
  // Points of one look are drawn together: setting the colour is what costs.
  const found = new Map();
  let shown = 0;
  for (let i = 0; i < data.task.length; i++) {
    if (!visible(i)) continue;
    shown++;
    const one = look(i), key = `${one.layer}|${one.colour}|${one.shape}|${one.size}`;
    if (!found.has(key)) found.set(key, { ...one, points: [] });
    found.get(key).points.push(i);
  }
  groups = [...found.values()].sort((a, b) => a.layer - b.layer);
  document.getElementById("count").textContent = `${shown.toLocaleString("en")} of ${data.task.length.toLocaleString("en")} images, as of round ${data.round}`;
  legend();
  redraw();
}

function legend() {
  const entry = (colour, text, shape = "circle") => {
    const path = { circle: "circle(50%)", square: "inset(5%)", triangle: "polygon(50% 0,100% 100%,0 100%)", diamond: "polygon(50% 0,100% 50%,50% 100%,0 50%)" }[shape];
    return `<span><i style="background:${colour};clip-path:${path}"></i>${text}</span>`;
  };
  const safe = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  let parts;
  if (colourBy.value === "class") parts = data.classes.map((name, at) => entry(classLook(at).colour, safe(name), classLook(at).shape)).concat('<span class="soft">larger: labelled or queued; the rest as the model predicts</span>');
  else if (colourBy.value === "uncertainty") parts = [0, 25, 50, 75, 100].map((p) => entry(cividis(p / 100), `${p / 100}`)).concat('<span class="soft">larger: labelled or queued</span>');
  else parts = [entry("#0072b2", "labelled", "square"), entry("#d55e00", "in the queue", "diamond"), entry("#e69f00", "uncertain (0.5 or more)"), entry(themed("--soft"), "the rest")];
  document.getElementById("legend").innerHTML = parts.join("");
}

function toScreen(i) {
  return [(data.x[i] - view.x) * view.scale, (data.y[i] - view.y) * view.scale];
}

function redraw() {
  if (wanted) return;
  wanted = true;
  requestAnimationFrame(() => { wanted = false; paint(); });
}

function paint() {
  const ratio = devicePixelRatio || 1, width = box.clientWidth, height = box.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  if (!data) return;
  const zoom = Math.min(3, Math.max(0.75, Math.sqrt(view.scale / whole().scale)));
  const small = data.task.length > 20000 ? 1.5 : data.task.length > 3000 ? 2 : 3;
  const radius = (group) => small * group.size * zoom / 1.4;
  const isDot = (group) => radius(group) < (group.shape === "circle" ? DOT : group.shape === "square" ? 2 * DOT : 0);
  paintDots(groups.filter(isDot), radius, ratio);
  for (const group of groups.filter((one) => !isDot(one))) {
    const r = radius(group);
    pen.fillStyle = group.colour;
    pen.globalAlpha = group.layer === 0 ? 0.65 : 0.92;
    pen.beginPath();
    for (const i of group.points) {
      const x = (data.x[i] - view.x) * view.scale, y = (data.y[i] - view.y) * view.scale;
      if (x < -9 || y < -9 || x > width + 9 || y > height + 9) continue;
      mark(group.shape, x, y, r);
    }
    pen.fill();
    if (group.layer >= 2) { pen.globalAlpha = 1; pen.strokeStyle = themed("--card"); pen.lineWidth = 0.8; pen.stroke(); }
  }
  pen.globalAlpha = 1;
  if (selected >= 0) {
    const [x, y] = toScreen(selected);
    pen.strokeStyle = themed("--ink");
    pen.lineWidth = 2.5;
    pen.beginPath();
    pen.arc(x, y, 9, 0, 7);
    pen.stroke();
  }
}

function paintDots(dotted, radius, ratio) {
  // Small dots go straight into the pixels: ten times as fast as shapes where there is no graphics card.
  if (!dotted.length) return;
  const { width, height } = canvas;
  const image = pen.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
  const scale = view.scale * ratio;
  for (const group of dotted) {
    pen.fillStyle = group.colour; // read back as #rrggbb, however it was written
    const rgb = parseInt(pen.fillStyle.slice(1), 16), alpha = group.layer === 0 ? 170 : 235;
    const packed = ((alpha << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
    const side = Math.max(1, Math.round(2 * radius(group) * ratio)), half = side >> 1;
    for (const i of group.points) {
      const left = Math.round((data.x[i] - view.x) * scale) - half, top = Math.round((data.y[i] - view.y) * scale) - half;
      if (left < 0 || top < 0 || left + side > width || top + side > height) continue;
      for (let y = top; y < top + side; y++) pixels.fill(packed, y * width + left, y * width + left + side);
    }
  }
  pen.putImageData(image, 0, 0);
}

function mark(shape, x, y, r) {
  if (shape === "circle") {
    pen.moveTo(x + r, y);
    return pen.arc(x, y, r, 0, 7);
  }
  if (shape === "square") return pen.rect(x - r, y - r, 2 * r, 2 * r);
  const s = 1.35 * r;
  pen.moveTo(x, y - s);
  if (shape === "triangle") { pen.lineTo(x + s, y + s * 0.8); pen.lineTo(x - s, y + s * 0.8); }
  else { pen.lineTo(x + s, y); pen.lineTo(x, y + s); pen.lineTo(x - s, y); }
  pen.closePath();
}

function whole() {
  const right = data.maxX, bottom = data.maxY;
  const scale = 0.94 * Math.min(box.clientWidth / right, box.clientHeight / bottom);
  return { scale, x: right / 2 - box.clientWidth / 2 / scale, y: bottom / 2 - box.clientHeight / 2 / scale };
}

function zoomAt(x, y, factor) {
  const least = whole().scale * 0.7, scale = Math.min(60 * least, Math.max(least, view.scale * factor));
  view.x += x / view.scale - x / scale;
  view.y += y / view.scale - y / scale;
  view.scale = scale;
  redraw();
}

function nearest(x, y) {
  const mx = view.x + x / view.scale, my = view.y + y / view.scale;
  const reach = 14 / view.scale, steps = Math.ceil(reach / CELL);
  let best = -1, least = reach * reach;
  if (steps > 12) return -1;
  for (let cx = Math.floor(mx / CELL) - steps; cx <= Math.floor(mx / CELL) + steps; cx++) {
    for (let cy = Math.floor(my / CELL) - steps; cy <= Math.floor(my / CELL) + steps; cy++) {
      for (const i of cells.get(cx * 1000 + cy) || []) {
        // A queued image wins over one that happens to lie a little nearer: it is drawn on top.
        const far = ((data.x[i] - mx) ** 2 + (data.y[i] - my) ** 2) * (data.rank[i] >= 0 ? 0.4 : 1);
        if (far < least && visible(i)) { least = far; best = i; }
      }
    }
  }
  return best;
}

function select(i) {
  if (i === selected) return;
  selected = i;
  hover.hidden = i < 0;
  redraw();
  if (i < 0) return;
  const line = (text) => { const div = document.createElement("div"); div.textContent = text; return div; };
  const image = new Image();
  image.alt = `image of task ${data.task[i]}`;
  image.src = `${base}/api/projects/${project}/thumbnails/${data.task[i]}`;
  const parts = [image, line(`task ${data.task[i]}`)];
  if (data.label[i] >= 0) parts.push(line(`labelled ${data.classes[data.label[i]]}`));
  else if (data.predicted[i] >= 0) parts.push(line(`model says ${data.classes[data.predicted[i]]}`), line(`uncertainty ${(data.uncertainty[i] / 100).toFixed(2)}`));
  if (data.rank[i] >= 0) parts.push(line(`rank ${data.rank[i] + 1} in the queue`));
  hover.replaceChildren(...parts);
  const [x, y] = toScreen(i);
  hover.style.left = `${Math.max(4, Math.min(box.clientWidth - hover.offsetWidth - 4, x + 14))}px`;
  hover.style.top = `${Math.max(4, Math.min(box.clientHeight - hover.offsetHeight - 4, y + 14))}px`;
}

function openTask(i) {
  if (i >= 0) window.open(box.dataset.link + data.task[i], "_blank", "noopener");
}

function step(direction) {
  if (!queue.length) return;
  const at = selected >= 0 ? queue.indexOf(selected) : -1;
  const next = queue[(at + direction + queue.length) % queue.length];
  const [x, y] = toScreen(next);
  if (x < 20 || y < 20 || x > box.clientWidth - 20 || y > box.clientHeight - 20) {
    view.x = data.x[next] - box.clientWidth / 2 / view.scale;
    view.y = data.y[next] - box.clientHeight / 2 / view.scale;
  }
  select(next);
}

const fingers = new Map();
let pressed = null;

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
  pressed = { x: event.offsetX, y: event.offsetY, moved: false };
});
canvas.addEventListener("pointermove", (event) => {
  if (!data) return;
  const before = fingers.get(event.pointerId), now = [event.offsetX, event.offsetY];
  if (!before) return select(nearest(...now));
  if (fingers.size === 2) {
    const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
    const apart = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
    zoomAt((now[0] + other[0]) / 2, (now[1] + other[1]) / 2, apart(now, other) / apart(before, other));
    pressed.moved = true;
  } else if (pressed.moved || Math.hypot(now[0] - pressed.x, now[1] - pressed.y) > PRESS_PIXELS) {
    pressed.moved = true;
    view.x -= (now[0] - before[0]) / view.scale;
    view.y -= (now[1] - before[1]) / view.scale;
    select(-1);
    redraw();
  }
  fingers.set(event.pointerId, now);
});
canvas.addEventListener("pointerup", (event) => {
  fingers.delete(event.pointerId);
  if (!pressed || pressed.moved || !data) return;
  const found = nearest(event.offsetX, event.offsetY);
  // A finger cannot hover: the first touch shows the image, the second one opens it.
  if (event.pointerType === "mouse" || found === selected) openTask(found);
  else select(found);
});
canvas.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));
canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !fingers.size) select(-1); });
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (data) zoomAt(event.offsetX, event.offsetY, Math.exp(-event.deltaY * 0.0015));
}, { passive: false });
canvas.addEventListener("keydown", (event) => {
  if (!data) return;
  const pan = 60 / view.scale, middle = [box.clientWidth / 2, box.clientHeight / 2];
  const keys = {
    ArrowLeft: () => { view.x -= pan; }, ArrowRight: () => { view.x += pan; }, ArrowUp: () => { view.y -= pan; }, ArrowDown: () => { view.y += pan; },
    "+": () => zoomAt(...middle, 1.4), "=": () => zoomAt(...middle, 1.4), "-": () => zoomAt(...middle, 1 / 1.4),
    n: () => step(1), p: () => step(-1), Enter: () => openTask(selected), Escape: () => select(-1),
  };
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
  redraw();
});
document.getElementById("reset").addEventListener("click", () => { if (data) { Object.assign(view, whole()); redraw(); } });
colourBy.addEventListener("change", () => data && regroup());
show.addEventListener("change", () => data && regroup());
document.addEventListener("theme", () => data && regroup());
new ResizeObserver(redraw).observe(box);

async function load() {
  const answer = await fetch(`${base}/api/projects/${project}/map`);
  if (!answer.ok) {
    document.getElementById("count").textContent = "No round has drawn a map yet.";
    return;
  }
  data = await answer.json();
  data.maxX = Math.max(1, data.x.reduce((a, b) => Math.max(a, b), 0));
  data.maxY = Math.max(1, data.y.reduce((a, b) => Math.max(a, b), 0));
  for (let i = 0; i < data.task.length; i++) {
    const key = Math.floor(data.x[i] / CELL) * 1000 + Math.floor(data.y[i] / CELL);
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(i);
  }
  queue = [...data.rank.keys()].filter((i) => data.rank[i] >= 0).sort((a, b) => data.rank[a] - data.rank[b]);
  Object.assign(view, whole());
  regroup();
  box.dataset.ready = "true";
}

load();
