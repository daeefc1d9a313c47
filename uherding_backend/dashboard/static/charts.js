// Charts of the overview and of "When to stop", from the JSON that the API gives.
"use strict";

const BLUE = "#0072b2", ORANGE = "#d55e00", GREEN = "#009e73", PURPLE = "#aa4499"; // Okabe-Ito
const MEASURES = {
  held_out: { name: "held-out labels (hard ones, half of the labels)", color: BLUE, symbol: "circle" },
  ground_truth: { name: "ground truth", color: PURPLE, symbol: "square" },
  audit: { name: "audit slice (random, unbiased)", color: GREEN, symbol: "diamond" },
};
const drawn = new Map();

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function layout(extra) {
  const axis = { gridcolor: style("--line"), zerolinecolor: style("--line"), linecolor: style("--line"), automargin: true };
  const { xaxis, yaxis, ...rest } = extra;
  const whole = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: style("--ink"), size: 13 },
    margin: { l: 52, r: 12, t: 8, b: 40 }, hovermode: "closest", legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 }, // rows that wrap grow upwards, off the plot
    hoverlabel: { bgcolor: style("--card"), bordercolor: style("--line"), font: { color: style("--ink") } },
    xaxis: { ...axis, ...xaxis }, yaxis: { ...axis, ...yaxis }, ...rest,
  };
  for (const key of Object.keys(rest)) if (/^[xy]axis\d/.test(key)) whole[key] = { ...axis, ...rest[key] };
  return whole;
}

const UNMEASURED = "Not measured yet: it needs 10 labels, two of each of two classes.";
const UNLABELLED = "No labels yet.";

function draw(id, traces, extra, otherwise = UNMEASURED) {
  const box = document.getElementById(id);
  if (!box) return;
  drawn.set(id, [traces, extra, otherwise]);
  const full = traces.filter((trace) => trace.y.some((value) => value !== null && value !== undefined));
  box.style.height = full.length ? "" : "auto";
  box.querySelector(".soft")?.remove();
  if (full.length) return Plotly.react(box, full, layout(extra), { responsive: true, displayModeBar: false });
  Plotly.purge(box);
  box.innerHTML = '<p class="soft"></p>';
  box.firstChild.textContent = otherwise;
}

function measured(points, look) {
  return {
    x: points.map((p) => p.labels), y: points.map((p) => p.value), mode: "lines+markers", name: look.name,
    line: { color: look.color, width: 2.5 }, marker: { color: look.color, symbol: look.symbol, size: 8 },
    error_y: { type: "data", symmetric: false, array: points.map((p) => p.high - p.value), arrayminus: points.map((p) => p.value - p.low), color: look.color, thickness: 1.2, width: 3 },
    customdata: points.map((p) => [p.round, p.tested]),
    hovertemplate: "%{y:.1%} with %{x} labels<br>round %{customdata[0]}, %{customdata[1]} items<extra></extra>",
  };
}

const share = { tickformat: ".0%", rangemode: "normal" };

async function json(path) {
  const answer = await fetch(`${base}/api/projects/${project}/${path}`);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

function curveChart(curve) {
  const traces = Object.keys(MEASURES).filter((key) => curve.accuracy[key].length)
    .map((key) => measured(curve.accuracy[key], MEASURES[key]));
  draw("curve", traces, { xaxis: { title: { text: "labels trained on" } }, yaxis: share });
  const said = Object.keys(MEASURES).filter((key) => curve.accuracy[key].length).map((key) => curve.measures[key]);
  if (said.length) document.getElementById("measured").textContent = `Measured on ${said.join("; and on ")}. Bars are 95 % intervals.`;
}

function adaptationChart(rounds) {
  const labels = rounds.map((r) => r.labels);
  const some = labels.some((count) => count > 0);
  const line = (name, key, color, axis, dash) => ({
    x: labels, y: rounds.map((r) => r[key]), name, mode: "lines+markers", yaxis: axis, connectgaps: false,
    line: { color, dash, width: 2 }, marker: { color, size: 6 }, hovertemplate: `${name} %{y:.3g} with %{x} labels<extra></extra>`,
  });
  draw("adaptation", some ? [
    line("temperature", "temperature", ORANGE, "y", "solid"), line("ECE before", "ece_before", PURPLE, "y2", "dot"),
    line("ECE after", "ece_after", BLUE, "y2", "solid"), line("radius", "radius", GREEN, "y3", "solid"),
  ] : [], {
    grid: { rows: 3, columns: 1, roworder: "top to bottom" }, xaxis: { title: { text: "labels" }, anchor: "y3" },
    yaxis: { domain: [0.7, 1], title: { text: "T" } }, yaxis2: { domain: [0.36, 0.64], title: { text: "ECE" }, rangemode: "tozero" },
    yaxis3: { domain: [0, 0.3], title: { text: "radius" } },
  }, UNLABELLED);
  draw("coverage", some ? [{ ...line("coverage", "coverage", BLUE, "y", "solid"), fill: "tozeroy", fillcolor: "rgba(0,114,178,.12)" }] : [],
    { xaxis: { title: { text: "labels" } }, yaxis: { ...share, title: { text: "coverage" }, rangemode: "tozero" }, showlegend: false }, UNLABELLED);
}

function reliabilityChart(reliability) {
  const most = Math.max(1, ...reliability.after.map((b) => b.count));
  const line = (bins, name, color, dash) => ({
    x: bins.map((b) => b.confidence), y: bins.map((b) => b.accuracy), name, mode: "lines+markers", line: { color, dash, width: 2 },
    marker: { size: 8, color }, customdata: bins.map((b) => b.count), hovertemplate: "said %{x:.0%}, right %{y:.0%} (%{customdata} answers)<extra></extra>",
  });
  draw("reliability", reliability.after.length ? [
    { x: reliability.after.map((b) => b.confidence), y: reliability.after.map((b) => 0.3 * b.count / most), type: "bar", width: 0.05, marker: { color: style("--line") }, hoverinfo: "skip", showlegend: false },
    { x: [0, 1], y: [0, 1], mode: "lines", line: { color: style("--soft"), dash: "dash", width: 1 }, hoverinfo: "skip", showlegend: false },
    line(reliability.before, "before", PURPLE, "dot"), line(reliability.after, "calibrated", BLUE, "solid"),
  ] : [], { xaxis: { title: { text: "confidence" }, range: [0, 1.02], tickformat: ".0%" }, yaxis: { ...share, title: { text: "right" }, range: [0, 1.04] } });
}

function balanceChart(classes) {
  const total = classes.reduce((sum, one) => sum + one.labels, 0);
  const names = classes.map((one) => one.name);
  draw("balance", total ? [
    { x: names, y: classes.map((one) => one.labels / total), type: "bar", name: "of the labels", marker: { color: BLUE } },
    { x: names, y: classes.map((one) => one.expected_share), type: "bar", name: "expected in the pool", marker: { color: "#e69f00", pattern: { shape: "/", fillmode: "overlay", fgcolor: "#7a5200", solidity: 0.15 } } },
  ] : [], { xaxis: { automargin: true }, yaxis: share, barmode: "group" }, UNLABELLED);
}

function forecastChart(stopping) {
  const look = MEASURES[stopping.measured_on];
  const ahead = stopping.forecasts;
  const x = ahead.map((one) => one.labels);
  const band = {
    x: [...x, ...[...x].reverse()], y: [...ahead.map((one) => one.high), ...ahead.map((one) => one.low).reverse()],
    fill: "toself", fillcolor: "rgba(213,94,0,.16)", line: { width: 0 }, hoverinfo: "skip", name: "90 % interval", mode: "lines",
  };
  const line = {
    x, y: ahead.map((one) => one.expected), mode: "lines+markers", name: "forecast", line: { color: ORANGE, dash: "dash", width: 2.5 },
    marker: { symbol: "x", size: 9 }, hovertemplate: "%{y:.1%} with %{x} labels<extra>forecast</extra>",
  };
  draw("forecast", stopping.points.length ? [...(ahead.length ? [band, line] : []), measured(stopping.points, look)] : [],
    { xaxis: { title: { text: "labels trained on" }, rangemode: "tozero" }, yaxis: share });
}

async function overview() {
  const [curve, found] = await Promise.all([json("curve"), json("insights")]);
  curveChart(curve);
  adaptationChart(curve.rounds);
  reliabilityChart(found.reliability);
  balanceChart(found.classes);
  let classes = null;
  document.getElementById("by-class").addEventListener("change", async (event) => {
    const name = event.target.value;
    if (!name) return curveChart(curve);
    classes = classes || await json("curve/classes");
    draw("curve", [measured(classes[name] || [], { name, color: ORANGE, symbol: "circle" })],
      { xaxis: { title: { text: `labels of ${name}` } }, yaxis: share });
    document.getElementById("measured").textContent = `How many held-out images of ${name} were recognised, with 95 % intervals.`;
  });
}

document.addEventListener("theme", () => drawn.forEach((what, id) => draw(id, ...what)));
if (document.getElementById("curve")) overview();
if (document.getElementById("forecast")) json("stopping").then(forecastChart);
