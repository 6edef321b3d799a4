import { requireHere } from '../../base/package.js';
import type { TemplatedApp, us_listen_socket } from '../uws/app.js';
import type * as Apps from './app.js';
import type { ListenSocket } from './listen.js';

/** The class of apps on node:http. It is loaded once one is needed: an app of uWebSockets.js alone needs none. */
export const nodeApps = (): typeof Apps.NodeApp => (requireHere('./engine/node/app.js') as typeof Apps).NodeApp;

export const isNodeApp = (app: TemplatedApp): app is Apps.NodeApp => 'routeHttp' in app;

export const isNodeSocket = (socket: us_listen_socket): socket is ListenSocket => 'close' in socket;
