// Runs before anything is drawn, so that a page that was chosen to be dark never flashes white.
(() => {
  try {
    const theme = JSON.parse(localStorage.getItem("bela.theme"));
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // the system's choice holds
  }
})();
