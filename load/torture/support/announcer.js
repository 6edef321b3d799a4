import { once } from 'node:events';
import { request } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

const MAX_WAIT_MS = 15_000;

/** Sends one number after the other to an application. */
export class Announcer {
  /** What the application has answered, by number. */
  confirmed = new Map();
  /** The numbers without an answer: the application may have sent them or not. */
  unconfirmed = new Set();
  number = 0;
  isPaused = false;
  #isOn = true;
  #send;
  #loop;

  /** @param {(number: number) => Promise<unknown>} send resolves with the answer @param {number} intervalMs */
  constructor(send, intervalMs) {
    this.#send = send;
    this.#loop = this.#run(intervalMs);
  }

  async #run(intervalMs) {
    for (; this.#isOn; await sleep(intervalMs)) {
      if (!this.isPaused) await this.announce();
    }
  }

  /** Sends the next number. Resolves with whether it was confirmed. */
  async announce() {
    const number = ++this.number;
    const answer = await this.#send(number);
    if (answer === undefined) this.unconfirmed.add(number);
    else this.confirmed.set(number, answer);
    return answer !== undefined;
  }

  /** Resolves when the last number is sent. */
  async stop() {
    this.#isOn = false;
    await this.#loop;
  }
}

/** The JSON of a response with status 200. Each request has a connection of its own, so that any worker gets it. */
export async function answerOf(url) {
  const asked = request(url, { agent: false, timeout: MAX_WAIT_MS });
  asked.on('error', () => {}).on('timeout', () => asked.destroy());
  try {
    const [response] = await once(asked.end(), 'response');
    const answer = await json(response);
    return response.statusCode === 200 ? answer : undefined;
  } catch {
    return undefined;
  }
}
