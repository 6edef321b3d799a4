/** The library as built by `npm run build`, loaded when this is called; null if it has not been built. */
export async function library() {
  try {
    return await import('../../../dist/index.js');
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return null;
  }
}
