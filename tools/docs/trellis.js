// What the theme leaves open for those who read with a keyboard or a screen reader.
function mend() {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  // Landmarks of one kind are told apart by their names.
  document.querySelectorAll(".md-code__nav").forEach((each, i) =>
    each.setAttribute("aria-label", `Buttons of code block ${i + 1}`));
  document.querySelectorAll(".md-nav .md-nav").forEach((each, i) => {
    const label = document.getElementById(each.getAttribute("aria-labelledby"));
    const name = label ? label.textContent.trim() : "Table of contents";
    each.removeAttribute("aria-labelledby");
    if (!each.dataset.named) each.setAttribute("aria-label", `${name}, part ${i + 1}`);
    each.dataset.named = "true";
  });
  // What scrolls sideways can be reached by the keyboard.
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap"))
    if (each.scrollWidth > each.clientWidth) each.setAttribute("tabindex", "0");
}

document.addEventListener("DOMContentLoaded", () => {
  mend();
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
});
addEventListener("load", mend);
addEventListener("resize", mend);
