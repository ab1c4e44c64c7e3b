const THEMES = { light: "#ffffff", dark: "#111111" };

/** Switches between the light and the dark colour scheme and remembers the choice. */
export function toggleTheme(current) {
  const next = current === "light" ? "dark" : "light";
  document.body.style.background = THEMES[next];
  localStorage.setItem("theme", next);
  return next;
}
