// A process that waits in epoll is woken by the first byte that arrives, reads it and waits again. Under a broadcast, that is
// one wake-up per delivery, paid for by the server, whose write has to wake a sleeping core, and by the generator, which
// then saturates before the server does. Clients on a network are spared this: their network cards gather what arrives
// before they interrupt. Resting does the same here: after a round of reads the process sleeps for a moment, outside
// epoll. It adds up to that moment to every latency.

const never = new Int32Array(new SharedArrayBuffer(4));
let milliseconds = 0;
let planned = false;

/** @param {number} ms how long to rest after each round of reads; 0, as it is at first, for not at all */
export function setRest(ms) {
  milliseconds = ms;
}

/** To be called for every read. */
export function afterRead() {
  if (milliseconds === 0 || planned) return;
  planned = true;
  // Immediates run once everything that was readable in this turn of the event loop has been read.
  setImmediate(rest);
}

function rest() {
  planned = false;
  Atomics.wait(never, 0, 0, milliseconds);
}
