import { GjallarError } from '../../base/errors.js';
import { type AnyNamespace, type AnyServer, namespaceOf } from '../../io/any.js';
import { wantsRecovery } from '../../io/socket-io.private.js';
import type { ExpiryListener } from './messages.js';
import { listenToExpiries } from './recovery.js';

/** See `onSessionExpired()` of the library. */
export function watchExpiries(of: AnyServer | AnyNamespace, listener: ExpiryListener): () => void {
  const nsp = namespaceOf(of);
  if (!wantsRecovery(nsp)) {
    throw new GjallarError('BAD_INPUT', 'No session can be recovered. Set the option connectionStateRecovery.');
  }
  const end = listenToExpiries(nsp.adapter, listener);
  if (end) return end;
  throw new GjallarError(
    'BAD_INPUT',
    `${nsp.adapter.constructor.name} does not tell when a session expires. Use an adapter of gjallar, as createAdapter() makes.`,
  );
}
