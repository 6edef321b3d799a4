const backpressureCell = ({ slow }) =>
  slow === 0
    ? [{ name: 'document 5: reactive-playground', result: { deliveries: 1_351_598, messages: 100_000_000 } }]
    : [];

export default {
  title: 'reactive-playground, back-pressure against slow clients',
  benchmarks: {
    backpressure: {
      cell: backpressureCell,
      tables: [
        {
          document: 5,
          about:
            '1,000 clients, messages of about 145 bytes, 1,500,000 offered a second in batches of 5,000; slow clients sleep 200 ms at every read. 4 physical cores (i7-4770), JDK 12.',
          head: ['', 'messages/s', 'outcome'],
          rows: [
            ['reactive-playground', '1,351,598 on average', '100,000,000 messages arrive'],
            [
              'the same, slow clients',
              '10 to 20% less',
              'stays up; 25,000 messages for a reader that waits all arrive later',
            ],
            [
              'the same without back-pressure',
              '–',
              'no answer, then out of memory; about 720 KB queued in each socket',
            ],
          ],
        },
      ],
    },
  },
};
