// Runs, and never listens.
setInterval(() => {}, 1e6);
