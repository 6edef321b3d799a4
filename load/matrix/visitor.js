import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { io } from 'socket.io-client';
import { within } from '../harness/process/child.js';
import { HOST } from './process.js';

/** An answer that takes longer is a failure, in ms. */
const MAX_ANSWER_MS = 15_000;

/** Headers that describe the connection instead of the answer. docs/move.md lists how they differ. */
const OF_THE_CONNECTION = ['connection', 'date', 'keep-alive', 'transfer-encoding', 'uwebsockets'];

/** What the scripts use to visit an application: HTTP requests, real Socket.IO clients, and a browser. */
export class Visitor {
  #sockets = [];
  #pages = [];
  #hasLeft = false;

  /** @param {import('./process.js').ApplicationProcess} application */
  constructor(application, { host = HOST, port = application.port } = {}) {
    this.application = application;
    this.url = `http://${host}:${port}`;
  }

  /**
   * Sends an HTTP request.
   * @param {string} path
   * @param {import('node:http').RequestOptions & { body?: string | Buffer }} [options]
   * @returns {Promise<{ status: number, headers: object, body: string }>} without headers of the connection
   */
  async http(path, { body, ...options } = {}) {
    const sent = request(this.url + path, { agent: false, ...options });
    sent.end(body);
    const parts = [];
    const response = await answer(once(sent, 'response'), path)
      .then(async ([one]) => {
        for await (const part of one) parts.push(part);
        return one;
      })
      .catch((error) => {
        throw new Error(`${options.method ?? 'GET'} ${path}: ${error.message}`, { cause: error });
      });
    const content = Buffer.concat(parts);
    const headers = { ...response.headers };
    for (const name of OF_THE_CONNECTION) delete headers[name];
    // A body of this length is the same body if it comes in chunks.
    if (options.method !== 'HEAD' && headers['content-length'] === String(content.length))
      delete headers['content-length'];
    return { status: response.statusCode, headers, body: content.toString('latin1') };
  }

  /**
   * Sends a request to Engine.IO.
   * @param {string} query
   * @param {object} [options] as for `http()`
   */
  async engine(query, { path = '/socket.io/', ...options } = {}) {
    const { headers, body, ...rest } = await this.http(`${path}?EIO=4&${query}`, options);
    // gjallar adds it to each of these responses; docs/compatibility.md says so.
    delete headers['x-content-type-options'];
    return { ...rest, headers, body: body.replace(/"sid":"[^"]+"/, '"sid":""') };
  }

  /** Whether uWebSockets.js owns the port, and whether gjallar answers Engine.IO's requests. */
  async server(path = '/socket.io/') {
    const [response] = await answer(this.#first(path), 'response');
    response.resume();
    return { isOnUws: 'uwebsockets' in response.headers, isGjallar: 'x-content-type-options' in response.headers };
  }

  /** The first response. A client that connects just before uWebSockets.js takes over the port is reset or refused. */
  async #first(path) {
    while (!this.#hasLeft) {
      // A handshake would leave a session behind.
      const sent = request(`${this.url}${path}?EIO=4&transport=none`, { agent: false }).end();
      try {
        return await once(sent, 'response');
      } catch (error) {
        if (!['ECONNRESET', 'ECONNREFUSED'].includes(error.code)) throw error;
        await wait(20);
      }
    }
  }

  /** A real client that does not come back by itself. @returns {import('socket.io-client').Socket} */
  socket(namespace = '/', options = {}) {
    const socket = io(this.url + namespace, { forceNew: true, reconnection: false, ...options });
    this.#sockets.push(socket);
    return socket;
  }

  /** A client that is connected. */
  async connected(namespace, options) {
    const socket = this.socket(namespace, options);
    const connecting = new Promise((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('connect_error', reject);
    });
    await answer(connecting, '"connect"');
    return socket;
  }

  /** A page of Chromium, which is shared by all visitors. @returns {Promise<import('playwright-core').Page>} */
  async page(path = '/') {
    const page = await (await browser()).newPage();
    page.setDefaultTimeout(MAX_ANSWER_MS * 2);
    this.#pages.push(page);
    await page.goto(this.url + path);
    return page;
  }

  async leave() {
    this.#hasLeft = true;
    for (const socket of this.#sockets) socket.disconnect();
    await Promise.all(this.#pages.map((page) => page.close()));
  }
}

/** The values of the next event. */
export function next(emitter, event) {
  return answer(new Promise((resolve) => emitter.once(event, (...values) => resolve(values))), `"${event}"`);
}

/** The acknowledgement of an event. */
export const asked = (socket, ...event) => socket.timeout(MAX_ANSWER_MS).emitWithAck(...event);

function answer(promise, what) {
  return within(MAX_ANSWER_MS, promise, `no ${what}`);
}

let launch;

function browser() {
  launch ??= chromium
    .launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
    .catch((error) => {
      throw new Error(`Chromium does not start; set CHROMIUM to its path (${error.message.split('\n', 1)[0]})`);
    });
  return launch;
}

export async function closeBrowser() {
  await (await launch?.catch(() => undefined))?.close();
}
