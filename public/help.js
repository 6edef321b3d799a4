// The examples name this server.
for (const code of document.querySelectorAll('pre code')) {
  code.textContent = code.textContent.replaceAll(/(http|ws):\/\/localhost:3000/g, (_, scheme) =>
    location.origin.replace('http', scheme),
  );
}
