import { testPeers } from './contract.js';

await testPeers(['socketio-ws', 'socketio-uws', 'gjallar', 'ws-cluster']);
