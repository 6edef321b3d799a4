import { expect } from '@jest/globals';
import { type ChatClient, expectOk } from './clients.js';

const FENCE = 'fence';

/**
 * Everyone says something at once, and then a fence. Each hears everything that each says: once, and in the order in which the
 * server took it. What has not come before its sender's fence does not come any more.
 */
export async function expectOnceAndInOrder(clients: ChatClient[], room: string, each: number): Promise<void> {
  const hearing = clients.map((client) => hearUntilFences(client, clients.length));
  const said = await Promise.all(
    clients.map(async (client, sender) => {
      const texts = Array.from({ length: each }, (_, number) => `${sender}:${number}`);
      const taken = await say(client, room, texts);
      await say(client, room, [FENCE]);
      return taken;
    }),
  );
  for (const texts of await Promise.all(hearing)) {
    expect(texts).toHaveLength(clients.length * each);
    for (const [sender, own] of said.entries()) {
      expect(texts.filter((text) => text.startsWith(`${sender}:`))).toEqual(own);
    }
  }
}

/** Says texts at once, and then again what a busy server had no time for. Resolves with them in the order in which it took them. */
async function say(client: ChatClient, room: string, texts: string[]): Promise<string[]> {
  const replies = await Promise.all(texts.map((text) => client.emitWithAck('message', { room, text })));
  const taken: string[] = [];
  const refused: string[] = [];
  for (const [at, reply] of replies.entries()) {
    const isRefused = !reply.ok && reply.code === 'OVERLOADED';
    if (!isRefused) expectOk(reply);
    (isRefused ? refused : taken).push(texts[at]!);
  }
  return refused.length > 0 ? [...taken, ...(await say(client, room, refused))] : taken;
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
