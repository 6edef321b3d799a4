-- wrk: uploads of 10 MB.
wrk.method = 'POST'
wrk.headers['Content-Type'] = 'application/octet-stream'
wrk.body = string.rep('x', 10000000)
