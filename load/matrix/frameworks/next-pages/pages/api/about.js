export default function handler({ method, query, body, cookies }, response) {
  response.setHeader('Set-Cookie', 'seen=yes; Path=/').status(201).json({ method, query, body, cookies });
}
