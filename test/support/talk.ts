import { expect } from '@jest/globals';
import type { ChatClient } from './clients.js';

const FENCE = 'fence';

/**
 * Everyone says something at once, and then a fence. Resolves with what each heard when each has heard everyone's
 * fence: what did not come before its sender's fence does not come any more.
 */
export async function everyoneTalks(clients: ChatClient[], room: string, each: number): Promise<string[][]> {
  const hearing = clients.map((client) => hearUntilFences(client, clients.length));
  for (let number = 0; number < each; number++) {
    for (const [index, client] of clients.entries()) client.emit('message', { room, text: `${index}:${number}` });
  }
  for (const client of clients) client.emit('message', { room, text: FENCE });
  return Promise.all(hearing);
}

function hearUntilFences(client: ChatClient, fences: number): Promise<string[]> {
  const heard: string[] = [];
  return new Promise((resolve) => {
    client.on('message', function hear({ text }) {
      if (text !== FENCE) heard.push(text);
      else if (--fences === 0) {
        client.off('message', hear);
        resolve(heard);
      }
    });
  });
}

/** Each heard everything that each of the senders said: once, and in the order in which it was said. */
export function expectOnceAndInOrder(heard: string[][], senders: number, each: number): void {
  const said = Array.from({ length: each }, (_, number) => number);
  for (const texts of heard) {
    expect(texts).toHaveLength(senders * each);
    for (let sender = 0; sender < senders; sender++) {
      const own = texts.filter((text) => text.startsWith(`${sender}:`));
      expect(own.map((text) => Number(text.split(':')[1]))).toEqual(said);
    }
  }
}
