// Runs before the page is painted, so that a chosen theme does not flash.
"use strict";
try {
  const chosen = localStorage.getItem("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch (error) { /* storage is switched off: the system decides */ }
