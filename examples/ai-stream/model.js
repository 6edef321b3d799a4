// The tokens of a language model, over the HTTP API of OpenAI, which most servers of models understand.

const { MODEL_URL = 'http://localhost:11434', MODEL = 'llama3.2', MODEL_KEY } = process.env;

/** @param {string} prompt @param {AbortSignal} signal ends the request, so that the model stops */
export async function* tokensOf(prompt, signal) {
  const response = await fetch(`${MODEL_URL}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(MODEL_KEY && { Authorization: `Bearer ${MODEL_KEY}` }) },
    body: JSON.stringify({ model: MODEL, stream: true, messages: [{ role: 'user', content: prompt }] }),
    signal,
  });
  if (!response.ok) throw new Error(`The model answers with HTTP status ${response.status}.`);
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const token = line.startsWith('data: {') && JSON.parse(line.slice(6)).choices[0]?.delta?.content;
      if (token) yield token;
    }
  }
}
