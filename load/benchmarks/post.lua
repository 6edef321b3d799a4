-- wrk: posts a message of 44 bytes, as `correspondence.js` does over WebSocket.
wrk.method = 'POST'
wrk.headers['Content-Type'] = 'application/json'
wrk.body = '{"text":"' .. string.rep('x', 44) .. '"}'
