describe('karma', () => {
  it('runs in the browser', () => expect(typeof document).toBe('object'));
  for (let i = 0; i < 300; i++) it(`reports ${i}`, () => expect('x'.repeat(100)).toContain('x'));
  it('logs', () => {
    console.log('from the browser');
    expect(1).toBe(1);
  });
  it('asks its server', async () => {
    const { headers } = await fetch('/socket.io/?EIO=4&transport=none');
    console.log(`served by ${headers.get('x-content-type-options') ? 'gjallar' : 'socket.io'}`);
    expect(headers).toBeDefined();
  });
  it('fails where it should', () => expect(1).toBe(2));
  xit('is skipped', () => {});
});
