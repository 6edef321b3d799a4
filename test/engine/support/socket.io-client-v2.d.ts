/** The part of the client of Socket.IO v2 that the tests use; the package has no types of its own. */
interface SocketIOClientV2 {
  on(event: string, listener: (...values: never[]) => void): this;
  once(event: string, listener: (...values: never[]) => void): this;
  emit(event: string, ...values: unknown[]): this;
  close(): this;
}

declare module 'socket.io-client-v2' {
  export default function connect(url: string, options: object): SocketIOClientV2;
}
