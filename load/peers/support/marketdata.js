// Workload 3's ten messages of 10,000 bytes. As a publisher of market data would have them, they differ from each other,
// are the same for all clients and change every second.

const COUNT = 10;
const LENGTH = 10_000;

/** The ten texts of one second. Each starts with its number, for the client to check. */
export function texts(second) {
  return Array.from({ length: COUNT }, (_, number) =>
    `${number} ${second} `.padEnd(LENGTH, `quote ${number} ${second} `),
  );
}

/**
 * Calls `use` with ten new texts at once and then every second.
 * @param {(texts: string[]) => void} use
 */
export function everySecond(use) {
  let second = 0;
  use(texts(second));
  setInterval(() => use(texts(++second)), 1000);
}
