import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { FrameLog } from '../../../src/backplanes/frames/gateway/frame-log.js';
import { InOrder } from '../../../src/backplanes/frames/gateway/in-order.js';
import {
  mayStop,
  passedMessage,
  passedNumbers,
  rolesAmong,
  shouldBegin,
} from '../../../src/backplanes/frames/gateway/messages.js';
import {
  type MachineFrame,
  MachineFrameWriter,
  numberBefore,
  openFrame,
  readEntries,
} from '../../../src/backplanes/frames/machines/machine-frame.js';
import { messageOf } from '../../../src/backplanes/frames/wire/message.js';

afterEach(() => void jest.useRealTimers());

const message = messageOf(0, Buffer.from('text'));

function frameTo(writer: MachineFrameWriter, ...workers: number[]): MachineFrame {
  for (const worker of workers) writer.add(worker, message);
  return openFrame(writer.take().frame);
}

describe('the frames to a machine', () => {
  test('are numbered, and name for each worker the frame before', () => {
    const writer = new MachineFrameWriter('7.machine1');
    const frames = [frameTo(writer, 1, 2), frameTo(writer, 2), frameTo(writer, 1, 3)];
    expect(frames.map(({ sender, number, addressees }) => [sender, number, addressees])).toEqual([
      ['7.machine1', 1, [1, 2]],
      ['7.machine1', 2, [2]],
      ['7.machine1', 3, [1, 3]],
    ]);
    expect(numberBefore(frames[0]!, 2)).toBe(0);
    expect(numberBefore(frames[1]!, 2)).toBe(1);
    expect([numberBefore(frames[2]!, 1), numberBefore(frames[2]!, 3)]).toEqual([1, 0]);
    const bodies: string[] = [];
    readEntries(frames[2]!, 3, (type, body) => bodies.push(`${type} ${body}`));
    readEntries(frames[2]!, 2, (_type, body) => bodies.push(`${body}`));
    expect(bodies).toEqual(['0 text']);
    writer.restart();
    expect(numberBefore(frameTo(writer, 1), 1)).toBe(0);
  });

  test('are rejected if they are incomplete or of another version', () => {
    const { bytes } = frameTo(new MachineFrameWriter('7.machine1'), 1, 2);
    const { at } = openFrame(bytes);
    for (let length = 1; length < at; length++) expect(() => openFrame(bytes.subarray(0, length))).toThrow();
    expect(() => openFrame(Buffer.concat([Buffer.of(1), bytes.subarray(1)]))).toThrow(
      'a frame has the version 1, and this server reads version 3: run the same version on all machines',
    );
  });
});

describe('the frames of a sender', () => {
  function receiver(canWait = true) {
    const handled: number[] = [];
    const lost: string[] = [];
    const there = new Set<string>();
    const inOrder = new InOrder(
      {
        isThere: (sender) => there.has(sender),
        onFrame: ({ number }) => handled.push(number),
        onLoss: (sender) => lost.push(sender),
      },
      () => canWait,
    );
    const take = (...frames: MachineFrame[]) => {
      for (const frame of frames) inOrder.receive(frame, numberBefore(frame, 1));
    };
    return { handled, lost, take, there, leave: () => inOrder.leave('7.machine1') };
  }
  const framesTo1 = (count: number, writer = new MachineFrameWriter('7.machine1')) =>
    Array.from({ length: count }, () => frameTo(writer, 1));

  test('are handled once and in order, whichever way they take', () => {
    const { handled, lost, take } = receiver();
    const frames = framesTo1(5);
    take(...[2, 1, 1, 4, 5, 2, 4, 3, 5, 1].map((number) => frames[number - 1]!));
    expect(handled).toEqual([1, 2, 3, 4, 5]);
    expect(lost).toEqual([]);
  });

  test('are not waited for longer than a second, and their loss is reported', () => {
    jest.useFakeTimers();
    const { handled, lost, take } = receiver();
    const [a, , c, d] = framesTo1(4);
    take(a!, d!, c!);
    jest.advanceTimersByTime(900);
    expect(handled).toEqual([1]);
    jest.advanceTimersByTime(200);
    expect([handled, lost]).toEqual([[1, 3, 4], ['7.machine1']]);
  });

  test('are not waited for where there is no other way, nor after the sender has begun again', () => {
    const alone = receiver(false);
    const [a, , c] = framesTo1(3);
    alone.take(a!, c!);
    expect([alone.handled, alone.lost]).toEqual([[1, 3], ['7.machine1']]);

    const { handled, lost, take } = receiver();
    const writer = new MachineFrameWriter('7.machine1');
    const [one, , three] = framesTo1(3, writer);
    writer.restart();
    take(one!, three!, frameTo(writer, 1));
    expect([handled, lost]).toEqual([[1, 3, 4], []]);
  });

  test('are forgotten ten seconds after it has left, even if one arrives late, unless it is back', () => {
    jest.useFakeTimers();
    const { handled, take, there, leave } = receiver();
    const [a, b, c] = framesTo1(3);
    take(a!, b!);
    leave();
    take(c!);
    there.add('7.machine1');
    jest.advanceTimersByTime(11_000);
    take(a!);
    expect(handled).toEqual([1, 2, 3]);
    there.clear();
    leave();
    take(c!);
    jest.advanceTimersByTime(11_000);
    take(a!);
    expect(handled).toEqual([1, 2, 3, 1]);
  });
});

describe.each([
  ['that may arrive on two ways', true],
  ['that arrive on one way', false],
])('frames %s, whose numbers do not continue', (_ways, canWait) => {
  const NAME = '7.machine1';
  const HIGHEST = 2 ** 48 - 1;

  function receiver() {
    const handled: string[] = [];
    const losses: string[] = [];
    const inOrder = new InOrder(
      {
        isThere: () => true,
        onFrame: (frame) => readEntries(frame, 1, (_type, body) => handled.push(`${body}`)),
        onLoss: (_sender, reason) => losses.push(reason),
      },
      () => canWait,
    );
    return {
      handled,
      losses,
      take: (...frames: MachineFrame[]) => {
        for (const frame of frames) inOrder.receive(frame, numberBefore(frame, 1));
      },
    };
  }

  /** Frames with one text each. */
  function framesOf(writer: MachineFrameWriter, ...texts: string[]): MachineFrame[] {
    return texts.map((text) => {
      writer.add(1, messageOf(0, Buffer.from(text)));
      return openFrame(writer.take().frame);
    });
  }

  /** A frame of the same sender from elsewhere: with any number, `distance` after the one before. */
  function forged(number: number, text: string, distance = 0): MachineFrame {
    const [{ bytes }] = framesOf(new MachineFrameWriter(NAME), text) as [MachineFrame];
    bytes.writeUIntLE(number, 2 + NAME.length, 6);
    bytes.writeUInt32LE(distance, 2 + NAME.length + 6 + 2 + 4);
    return openFrame(bytes);
  }

  test.each([HIGHEST, 2 ** 32, 10_000, 5])(
    'are all handled after a forged number of %d, and the loss is reported',
    (number) => {
      const { handled, losses, take } = receiver();
      const frames = framesOf(new MachineFrameWriter(NAME), 'a', 'b', 'c', 'd', 'e', 'f', 'g');
      const [a, b, c, ...rest] = frames as [MachineFrame, MachineFrame, MachineFrame, ...MachineFrame[]];
      take(a, b, forged(number, 'forged'), c, ...rest);
      expect(handled).toEqual(['a', 'b', 'forged', 'c', 'd', 'e', 'f', 'g']);
      expect(losses).not.toEqual([]);
      // What arrives on the other way is no frame of its own.
      take(...frames);
      expect(handled).toHaveLength(8);
    },
  );

  test('are handled after a forged number that names a frame before it', () => {
    jest.useFakeTimers();
    const { handled, losses, take } = receiver();
    const [a, b, c, d] = framesOf(new MachineFrameWriter(NAME), 'a', 'b', 'c', 'd') as [
      MachineFrame,
      MachineFrame,
      MachineFrame,
      MachineFrame,
    ];
    take(a, forged(HIGHEST, 'forged', 1), b);
    jest.advanceTimersByTime(1100);
    take(c, d);
    expect(handled.filter((text) => text !== 'forged')).toEqual(['a', 'b', 'c', 'd']);
    expect(losses).not.toEqual([]);
  });

  test('are handled if the sender goes back by one', () => {
    const { handled, losses, take } = receiver();
    take(...framesOf(new MachineFrameWriter(NAME), 'a', 'b'), forged(2, 'c', 1), forged(3, 'd', 1));
    expect(handled).toEqual(['a', 'b', 'c', 'd']);
    expect(losses).toEqual(['the frames of a worker do not continue where they were']);
  });

  test.each([3, 70, 20_000])('are handled if the sender restarts after %d frames', (count) => {
    const { handled, losses, take } = receiver();
    take(...framesOf(new MachineFrameWriter(NAME), ...Array.from({ length: count }, (_, index) => `old ${index}`)));
    handled.length = 0;
    const texts = Array.from({ length: 100 }, (_, index) => `new ${index}`);
    take(...framesOf(new MachineFrameWriter(NAME), ...texts));
    expect(handled).toEqual(texts);
    expect(losses).not.toEqual([]);
  });

  test('do not bring back frames that count as lost and arrive too late', () => {
    jest.useFakeTimers();
    const { handled, losses, take } = receiver();
    const [a, b, c, d] = framesOf(new MachineFrameWriter(NAME), 'a', 'b', 'c', 'd') as [
      MachineFrame,
      MachineFrame,
      MachineFrame,
      MachineFrame,
    ];
    take(a, c);
    jest.advanceTimersByTime(1100);
    if (canWait) take(b);
    take(d);
    expect(handled).toEqual(['a', 'c', 'd']);
    expect(losses).toEqual(
      canWait
        ? ['frames of a worker are missing', 'frames of a worker arrived too late']
        : ['frames of a worker are missing'],
    );
  });
});

describe('the log of a gateway or deputy', () => {
  test('gives away what is not confirmed after two turns, and everything when it is asked for', () => {
    jest.useFakeTimers();
    const late: number[] = [];
    const log = new FrameLog(({ number }) => late.push(number));
    const writer = new MachineFrameWriter('7.machine1');
    const add = () => log.add(frameTo(writer, 3));
    add();
    add();
    log.confirm(passedNumbers(passedMessage(new Map([['7.machine1', 1]]))));
    jest.advanceTimersByTime(250);
    expect(late).toEqual([]);
    jest.advanceTimersByTime(250);
    expect(late).toEqual([2]);
    add();
    expect(log.takeAll().map(({ number }) => number)).toEqual([3]);
    expect(log.takeAll()).toEqual([]);
    jest.advanceTimersByTime(1000);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('is bounded: the oldest frame is late at once', () => {
    const late: number[] = [];
    const log = new FrameLog(({ number }) => late.push(number));
    const writer = new MachineFrameWriter('7.machine1');
    const long = messageOf(0, Buffer.alloc(6 * 1024 * 1024));
    for (let count = 0; count < 4; count++) {
      writer.add(3, long);
      log.add(openFrame(writer.take().frame));
    }
    expect(late).toEqual([1, 2]);
    log.clear();
  });
});

describe('the gateway and its deputy', () => {
  const mate = (id: number, isReading = true, isCandidate = true) => ({ id, isReading, isCandidate });

  test('are the first two that read the channel; workers that end soon come last', () => {
    expect(rolesAmong([mate(3), mate(2), mate(1, false)])).toEqual({ gateway: 2, deputy: 3 });
    expect(rolesAmong([mate(1, true, false), mate(4), mate(3)])).toEqual({ gateway: 3, deputy: 4 });
    expect(rolesAmong([mate(1, true, false)])).toEqual({ gateway: 1, deputy: undefined });
  });

  test('are needed before another worker stops, and the next one begins when one of them is gone', () => {
    expect(mayStop(mate(3), [mate(1), mate(2, false)])).toBe(false);
    expect(mayStop(mate(3), [mate(1), mate(2)])).toBe(true);
    expect(mayStop(mate(1, true, false), [mate(2), mate(3)])).toBe(true);
    expect(shouldBegin(mate(3, false), [mate(1), mate(2)])).toBe(false);
    expect(shouldBegin(mate(3, false), [mate(2), mate(4, false)])).toBe(true);
    expect(shouldBegin(mate(4, false), [mate(2), mate(3, false)])).toBe(false);
    expect(shouldBegin(mate(4, false, false), [mate(2, false), mate(3, false)])).toBe(true);
  });
});
