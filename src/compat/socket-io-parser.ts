import { createRequire } from 'node:module';

/** The copy of socket.io-parser that socket.io itself has loaded. `import` would load a second one. */
export const { Decoder, Encoder, PacketType } = createRequire(import.meta.url)(
  'socket.io-parser',
) as typeof import('socket.io-parser');
