"use strict";
// What links and forms cannot do: live parts, keys, copying, and saying that the server is gone.

(() => {
  const banner = document.getElementById("connection");

  const showLost = (isLost) => {
    if (banner) {
      banner.textContent = isLost ? banner.dataset.lost : "";
      banner.hidden = !isLost;
    }
  };

  // An element with data-events="URL" shows the newest event of that stream. A hidden window closes
  // its stream, because a browser allows only a few connections per server.
  const listen = (element) => {
    let source = null;
    const stop = () => {
      if (source) source.close();
      source = null;
    };
    const start = () => {
      if (source || document.hidden) return;
      source = new EventSource(element.dataset.events);
      source.addEventListener(element.id, (event) => {
        const wasUpdating = element.querySelector("progress") !== null;
        element.innerHTML = event.data; // rendered by the server, which escapes all values
        if (wasUpdating && !element.querySelector("progress")) {
          document.body.dispatchEvent(new Event("updated"));
        }
        showLost(false);
      });
      source.addEventListener("open", () => showLost(false));
      source.addEventListener("error", () => showLost(true));
    };
    document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
    window.addEventListener("pagehide", stop);
    start();
  };
  document.querySelectorAll("[data-events]").forEach(listen);

  document.addEventListener("htmx:sendError", () => showLost(true));
  document.addEventListener("htmx:afterOnLoad", () => showLost(false));

  // data-focus on a field: it gets the focus when the page is shown.
  const focused = document.querySelector("[data-focus]");
  if (focused) focused.focus();

  // data-key="y" on a button or link: the key presses it, unless a field has the focus. Once a
  // key has sent a form or followed a link, keys do nothing until the page has changed.
  let isLeaving = false;
  const stay = () => (isLeaving = false);
  window.addEventListener("pageshow", stay);
  ["htmx:afterSettle", "htmx:sendError", "htmx:responseError"].forEach((name) =>
    document.addEventListener(name, stay),
  );
  document.addEventListener("submit", () => (isLeaving = true));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (target) {
      event.preventDefault();
      if (isLeaving || event.repeat) return;
      if (target.matches("a[href]:not([href^='#'])")) isLeaving = true;
      target.click();
    }
  });

  // On a narrow window, the navigation scrolls: show the link of this page.
  const here = document.querySelector(".top nav [aria-current]");
  if (here) here.closest("ul").scrollLeft = here.offsetLeft - 48;

  // data-copy="ID" on a button: copies the text of that element.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy).textContent;
    await navigator.clipboard.writeText(text);
    const label = button.textContent;
    button.textContent = button.dataset.copied;
    setTimeout(() => (button.textContent = label), 2000);
  });
})();
