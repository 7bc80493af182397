"use strict";
// Runs before the page is painted, so that a dark reader never sees a white flash.
(() => {
  const root = document.documentElement;
  const remembered = () => {
    try { return localStorage.getItem("board-theme"); } catch { return null; }
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const theme = remembered() || (system.matches ? "dark" : "light");
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.setAttribute("aria-pressed", String(theme === "dark"));
  };
  window.toggleTheme = () => {
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("board-theme", next); } catch { /* a private window: this visit only */ }
    root.dataset.theme = next;
    document.getElementById("theme").setAttribute("aria-pressed", String(next === "dark"));
  };
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", apply);
  apply();
})();
