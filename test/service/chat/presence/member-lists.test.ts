import { expect, test } from '@jest/globals';
import { MemberLists } from '../../../../src/service/chat/presence/member-lists.js';

test('the list of members is made once for each change of its room, and lists of rooms without members are not kept', () => {
  let asked = 0;
  const users = new Map([
    ['bjorn', 'Bjørn B.'],
    ['astrid', undefined],
  ]);
  const lists = new MemberLists({
    usersOf: (room) => {
      asked++;
      const here = room === 'hall' ? users : new Map<string, string>();
      return { members: here.size, users: here, sockets: new Map([...here.keys()].slice(2).map((user) => [user, 2])) };
    },
  });
  for (let time = 0; time < 100; time++) {
    expect(lists.of('hall')).toEqual({ members: 2, users: ['astrid', 'bjorn'], names: { bjorn: 'Bjørn B.' } });
    expect(lists.count('hall')).toBe(2);
  }
  expect(asked).toBe(1);
  users.set('chen', undefined);
  lists.forget('hall');
  expect(lists.of('hall')).toMatchObject({ users: ['astrid', 'bjorn', 'chen'], connections: { chen: 2 } });
  expect(asked).toBe(2);
  for (const _ of 'xx') expect(lists.of('nowhere').members).toBe(0);
  expect(asked).toBe(4);
});
