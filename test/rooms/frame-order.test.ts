import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { FrameLog } from '../../src/rooms/backplanes/frames/gateway/frame-log.js';
import { InOrder } from '../../src/rooms/backplanes/frames/gateway/in-order.js';
import { mayStop, rolesAmong, shouldBegin } from '../../src/rooms/backplanes/frames/gateway/mates.js';
import { passedMessage, passedNumbers } from '../../src/rooms/backplanes/frames/gateway/messages.js';
import {
  type MachineFrame,
  MachineFrameWriter,
  numberBefore,
  openFrame,
  readEntries,
} from '../../src/rooms/backplanes/frames/machines/machine-frame.js';
import { messageOf } from '../../src/rooms/backplanes/frames/wire/message.js';

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
    const inOrder = new InOrder(
      { onFrame: ({ number }) => handled.push(number), onLoss: (sender) => lost.push(sender) },
      () => canWait,
    );
    const take = (...frames: MachineFrame[]) => {
      for (const frame of frames) inOrder.receive(frame, numberBefore(frame, 1));
    };
    return { handled, lost, take };
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
