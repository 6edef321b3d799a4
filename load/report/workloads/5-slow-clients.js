const backpressureCell = ({ slow }) =>
  slow === 0
    ? [{ name: 'workload 5: reactive-playground', result: { deliveries: 1_351_598, messages: 100_000_000 } }]
    : [];

export default {
  title: 'slow clients',
  source: 'reactive-playground, which shows back-pressure against clients that read more slowly than the server sends',
  benchmarks: {
    backpressure: {
      cell: backpressureCell,
      tables: [
        {
          workload: 5,
          about:
            '1,000 clients, messages of about 145 bytes, 1,500,000 per second offered in batches of 5,000. Slow clients sleep 200 ms at every read. 4 physical cores (i7-4770), JDK 12.',
          head: ['', 'messages/s', 'outcome'],
          rows: [
            ['reactive-playground', '1,351,598 on average', 'all 100,000,000 messages arrive'],
            [
              'the same, slow clients',
              '10 to 20% less',
              'stays up; a paused reader later gets all of its 25,000 messages',
            ],
            [
              'the same without back-pressure',
              '–',
              'stops answering, then runs out of memory; about 720 KB queued per socket',
            ],
          ],
        },
      ],
    },
  },
};
