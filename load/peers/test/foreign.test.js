// Those in Go, Java and Rust are built first, which takes minutes and the network the first time.
import { testPeers } from './contract.js';

await testPeers(['gorilla', 'netty', 'tungstenite'], { hasRooms: false });
