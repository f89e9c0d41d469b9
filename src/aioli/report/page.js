"use strict";
(() => {
  const tooltip = document.getElementById("tooltip");
  const button = document.getElementById("theme");
  const root = document.documentElement;

  // Native tooltips come late and one line at a time: what they say is shown at once instead.
  const prepare = () => {
    for (const title of document.querySelectorAll("svg title")) {
      const owner = title.parentNode;
      if (owner.classList.contains("tip")) owner.dataset.tip = title.textContent;
      else {
        owner.setAttribute("aria-label", title.textContent);
        owner.removeAttribute("aria-labelledby");
      }
      title.remove();
    }
  };
  prepare();
  document.addEventListener("aioli:changed", prepare);

  const hide = () => { tooltip.hidden = true; };
  const show = (event) => {
    const tip = event.target.closest ? event.target.closest(".tip") : null;
    if (!tip) return hide();
    tooltip.textContent = tip.dataset.tip;
    tooltip.hidden = false;
    const box = tooltip.getBoundingClientRect();
    const beside = event.clientX + 14 + box.width > root.clientWidth ? event.clientX - 14 - box.width : event.clientX + 14;
    tooltip.style.left = Math.max(4, beside) + "px";
    tooltip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 4)) + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", hide, { passive: true });

  const dark = () => (root.style.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.style.colorScheme = dark() ? "light" : "dark";
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();
  button.hidden = false;
})();
