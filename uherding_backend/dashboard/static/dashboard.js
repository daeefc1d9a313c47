// Live progress on every page, the theme, and changes with their confirmation.
"use strict";

const base = document.body.dataset.base;
const project = document.body.dataset.project;

function duration(seconds) {
  return seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${(seconds / 60).toFixed(1)} min`;
}

function showProgress(one) {
  const box = document.querySelector(`[data-running="${one.project}"]`);
  const state = document.querySelector(`[data-state="${one.project}"]`);
  if (state) {
    state.textContent = one.state;
    state.className = `tag ${one.problem ? "bad" : one.state === "queue is up" ? "good" : "wait"}`;
  }
  if (!box) return;
  box.hidden = !one.running;
  if (!one.running) return;
  box.querySelector("[data-what]").textContent = `Round ${one.running.round}: ${one.running.step}`;
  const left = one.running.seconds_left;
  box.querySelector("[data-left]").textContent = left === null ? "" : `about ${duration(left)} left`;
  box.querySelector("progress").value = one.running.progress;
}

let lastSeen = null;

async function poll() {
  let wait = 2000;
  try {
    const answer = await fetch(`${base}/api/progress`, { cache: "no-store" });
    const all = await answer.json();
    all.forEach(showProgress);
    if (all.some((one) => one.running)) wait = 1000;
    const seen = JSON.stringify(all.map((one) => [one.project, one.published, one.problem, one.paused]));
    if (lastSeen !== null && seen !== lastSeen) renew(all);
    lastSeen = seen;
  } catch (error) {
    wait = 5000; // the backend is restarting, perhaps
  }
  setTimeout(poll, document.hidden ? 5 * wait : wait);
}

function renew(all) {
  // A page that somebody is reading is not pulled away under their eyes: it offers the news.
  if (!project) return location.reload();
  const mine = all.find((one) => String(one.project) === project);
  const note = document.getElementById("renewed");
  if (note && mine && String(mine.published) !== document.body.dataset.published) note.hidden = false;
}

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", root.dataset.theme); } catch (error) { /* for this page only */ }
  document.dispatchEvent(new Event("theme"));
});

async function send(method, path, body) {
  const answer = await fetch(`${base}/api/projects/${project}/${path}`, {
    method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  if (answer.ok) return;
  const explained = await answer.json().catch(() => ({}));
  throw new Error(explained.detail || `The backend answered ${answer.status}.`);
}

function confirmed(question, change) {
  const dialog = document.getElementById("confirm");
  const by = document.getElementById("by");
  const error = document.getElementById("confirm-error");
  document.getElementById("confirm-text").textContent = question;
  error.textContent = "";
  try { by.value = localStorage.getItem("by") || ""; } catch (problem) { /* ask again */ }
  document.getElementById("confirm-yes").onclick = async (event) => {
    event.preventDefault();
    try {
      await change(by.value.trim());
      try { localStorage.setItem("by", by.value.trim()); } catch (problem) { /* ask again */ }
      location.reload();
    } catch (problem) {
      error.textContent = problem.message;
    }
  };
  dialog.showModal();
}

for (const button of document.querySelectorAll("[data-post]")) {
  button.addEventListener("click", () => confirmed(button.dataset.confirm, (by) =>
    send("POST", button.dataset.post, { ...JSON.parse(button.dataset.body || "{}"), by })));
}
for (const button of document.querySelectorAll("[data-patch]")) {
  button.addEventListener("click", () => confirmed(button.dataset.confirm, (by) =>
    send("PATCH", "settings", { ...JSON.parse(button.dataset.patch), by })));
}
for (const form of document.querySelectorAll("form[data-setting]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { setting, kind, title, after } = form.dataset;
    const text = form.elements.value.value;
    const value = kind === "number" ? Number(text) : kind === "switch" ? text === "true" : text;
    const said = kind === "switch" ? (value ? "yes" : "no") : text;
    confirmed(`Change ${title} to ${said}? ${after}`, (by) => send("PATCH", "settings", { [setting]: value, by }));
  });
}

document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
poll();
