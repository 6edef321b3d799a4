/**
 * Answers the orders of a parent process, a `Child` of `child.js`, over IPC. Each order is `{ id, order, options }`, each
 * answer `{ id, result }` or `{ id, error }`. The process ends with its parent.
 * @param {Record<string, (options: any) => unknown>} orders
 */
export function answerOrders(orders) {
  process.on('message', async ({ id, order, options }) => {
    try {
      process.send({ id, result: (await orders[order](options)) ?? null });
    } catch ({ message }) {
      process.send({ id, error: message });
    }
  });
  process.on('disconnect', () => process.exit());
}
