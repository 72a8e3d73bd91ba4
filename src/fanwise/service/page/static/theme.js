// Light or dark, before anything is drawn: as the system says, or as was chosen here.
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("fanwise-theme"); } catch { /* not kept then */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
