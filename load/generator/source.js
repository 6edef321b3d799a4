// Where a client connects from. One address has 65,535 ports, fewer than a large run needs, and to let the kernel look for
// a free one takes it longer and longer as they fill up: half a millisecond at 10,000 connections, which is more than the
// connection itself costs. So every generator process has a loopback address of its own, made from its process id, and
// deals out that address's ports in order. Elsewhere than on Linux only 127.0.0.1 can be counted on, and the kernel chooses.

const FIRST_PORT = 10_000;
const linux = process.platform === 'linux';
const localAddress = `127.${64 + ((process.pid >> 16) & 63)}.${(process.pid >> 8) & 255}.${process.pid & 255}`;

let port = FIRST_PORT;

/** @returns {{ localAddress?: string, localPort?: number }} */
export const nextSource = () => (linux ? { localAddress, localPort: port++ } : {});
