const INTERVAL = 200;

/** Takes a reading now and every 200 ms. */
export class Watch {
  #readings = [];
  #timer;

  /** @param {() => object | undefined} read undefined where there is nothing to tell */
  constructor(read) {
    const look = () => {
      const reading = read();
      if (reading) this.#readings.push({ at: Date.now(), ...reading });
    };
    look();
    this.#timer = setInterval(look, INTERVAL);
  }

  stop() {
    clearInterval(this.#timer);
  }

  /** The first and the last reading between two moments, in ms since 1970; undefined if there are not two. */
  between(from, to) {
    const within = this.#readings.filter(({ at }) => at >= from && at <= to);
    return within.length > 1 ? [within.at(0), within.at(-1)] : undefined;
  }
}
