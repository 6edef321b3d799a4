import { createRequire } from 'node:module';

/** The copy of socket.io-parser that socket.io itself has loaded. `import` would load a second one. */
export const { Decoder, Encoder, PacketType } = createRequire(import.meta.url)(
  'socket.io-parser',
) as typeof import('socket.io-parser');

/** Events that Socket.IO emits itself. Its parser rejects them, and the connection ends. */
export const reservedEvents: ReadonlySet<unknown> = new Set([
  'connect',
  'connect_error',
  'disconnect',
  'disconnecting',
  'newListener',
  'removeListener',
]);

/** Decodes what servers have encoded themselves. Other than for clients, the number of attachments has no limit. */
export class TrustedDecoder extends Decoder {
  constructor() {
    // Older versions take only a function, and ignore the rest.
    super({ maxAttachments: Number.POSITIVE_INFINITY } as never);
  }
}
