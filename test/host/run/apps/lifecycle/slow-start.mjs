// Does not listen before the test ends it.
console.log('starting');
setInterval(() => {}, 1000);
