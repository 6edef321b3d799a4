export default defineEventHandler(async (event) => ({ bytes: (await readRawBody(event, false))?.length ?? 0 }));
