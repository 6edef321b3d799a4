import { testPeers } from './contract.js';

await testPeers(['socketio-ws', 'socketio-uws', 'gjallar', 'gjallar-portable'], { hasRooms: true });
await testPeers(['ws-cluster'], { hasRooms: false });
