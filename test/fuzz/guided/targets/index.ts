import { envelopeTargets } from './envelopes.js';
import { packetTargets } from './packets.js';
import { pageTargets } from './pages.js';
import { requestTargets } from './requests.js';
import { webSocketTargets } from './web-sockets.js';

/** All that reads what others send. */
export const targets = { ...packetTargets, ...webSocketTargets, ...requestTargets, ...envelopeTargets, ...pageTargets };
