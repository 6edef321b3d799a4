import type { Namespace } from 'socket.io';
import type { Adapter } from 'socket.io-adapter';

const hooked = new WeakSet<Adapter>();

/**
 * Has something end with a namespace: socket.io closes the adapter with the server, and with a child namespace that it
 * removes. What ends here may still send over the adapter.
 */
export function endWith({ adapter }: Namespace, end: () => Promise<unknown>): void {
  if (hooked.has(adapter)) return;
  hooked.add(adapter);
  const { close } = adapter;
  adapter.close = async () => {
    await end();
    await close.call(adapter);
  };
}
