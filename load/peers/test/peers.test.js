import { testPeers } from './contract.js';

await testPeers(['socketio-ws', 'socketio-uws', 'gjallar', 'gjallar-portable', 'ws-cluster']);
