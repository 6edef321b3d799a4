export const POST = async ({ request }) => new Response(String((await request.arrayBuffer()).byteLength));
