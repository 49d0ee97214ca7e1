import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import type { AuditSender } from './audit-backend.ts';
import { AuditBuffer, type AuditBufferOptions } from './audit-buffer.ts';
import { AuditCounts } from './audit-counts.ts';
import type { AuditRecord } from './audit-record.ts';
import { recordOf } from './testing/audit-events.ts';

/** Keeps the batches, and ends each one when the test says so. */
class Sender implements AuditSender {
  readonly batches: string[][] = [];
  readonly releases: (() => void)[] = [];
  closedWithinMs: number | undefined;
  isHanging = false;

  async send(records: readonly AuditRecord[]): Promise<boolean> {
    this.batches.push(records.map(({ auditId }) => auditId));
    if (this.isHanging) await new Promise<void>((resolve) => void this.releases.push(resolve));
    return true;
  }

  async close(withinMs: number): Promise<void> {
    this.closedWithinMs = withinMs;
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function start(options: Partial<AuditBufferOptions> = {}) {
  const sender = new Sender();
  const clock = new VirtualClock();
  const counts = new AuditCounts();
  const told: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void told.push(message) };
  const buffer = new AuditBuffer({
    sender,
    clock,
    counts,
    logger,
    maxEvents: 100,
    maxBytes: 1_000_000,
    maxBatchEvents: 3,
    maxBatchBytes: 100_000,
    maxWaitMs: 30_000,
    throttle: 'off',
    maxSends: 2,
    ...options,
  });
  const write = async (...ids: string[]): Promise<void> => {
    for (const id of ids) expect(await buffer.write(recordOf(id))).toBe(true);
  };
  const lost = (): number => Number(/buffered"} (\d+)/.exec(counts.metrics())?.[1] ?? 0);
  return { buffer, sender, clock, write, lost, told };
}

describe('a buffer of audit events', () => {
  it('sends a batch when it is full, and what is left when it has waited long enough', async () => {
    const { sender, clock, write } = start();
    await write('a', 'b');
    expect(sender.batches).toEqual([]);
    await write('c', 'd');
    expect(sender.batches).toEqual([['a', 'b', 'c']]);
    await clock.advance(29_999);
    expect(sender.batches).toHaveLength(1);
    await clock.advance(1);
    expect(sender.batches).toEqual([['a', 'b', 'c'], ['d']]);
    await clock.advance(60_000);
    expect(sender.batches).toHaveLength(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it('splits a batch whose events are too large together', async () => {
    const bytes = recordOf('a').json.length;
    const { sender, write } = start({ maxBatchBytes: 2 * bytes });
    await write('a', 'b', 'c');
    expect(sender.batches).toEqual([['a', 'b']]);
    const single = start({ maxBatchBytes: 1, maxBatchEvents: 1 });
    await single.write('a', 'b');
    expect(single.sender.batches).toEqual([['a'], ['b']]);
  });

  it('sends no more batches at once than it may, and the next when one has ended', async () => {
    const { sender, write } = start({ maxBatchEvents: 1 });
    sender.isHanging = true;
    await write('a', 'b', 'c');
    expect(sender.batches).toEqual([['a'], ['b']]);
    sender.releases[1]?.();
    await nextTurn();
    expect(sender.batches).toEqual([['a'], ['b'], ['c']]);
  });

  it('sends at once what a burst allows, and then as often as it may', async () => {
    const { sender, clock, write } = start({ maxBatchEvents: 1, throttle: { perSecond: 10, burst: 2 } });
    await write('a', 'b', 'c', 'd');
    expect(sender.batches).toEqual([['a'], ['b']]);
    await clock.advance(99);
    expect(sender.batches).toHaveLength(2);
    await clock.advance(1);
    expect(sender.batches).toEqual([['a'], ['b'], ['c']]);
    await clock.advance(100);
    expect(sender.batches).toHaveLength(4);
  });

  it('drops and counts what is too much, by number and by bytes, also while it is being sent', async () => {
    const few = start({ maxEvents: 2, maxBatchEvents: 1 });
    few.sender.isHanging = true;
    await few.write('a', 'b', 'c', 'd');
    expect(few.lost()).toBe(2);
    expect(few.told).toEqual(['the buffer of audit events is full or closed; events are lost']);
    few.sender.releases[0]?.();
    await nextTurn();
    await few.write('e');
    expect(few.sender.batches).toEqual([['a'], ['b'], ['e']]);
    const small = start({ maxBytes: recordOf('a').json.length });
    await small.write('a', 'b');
    expect(small.lost()).toBe(1);
  });

  it('sends everything when it is closed, and gives the rest of the time to the sender', async () => {
    const { buffer, sender, clock, write, lost } = start({ throttle: { perSecond: 1, burst: 1 } });
    await write('a', 'b', 'c', 'd');
    const closed = buffer.close(5000);
    await write('e');
    await clock.advance(1000);
    await closed;
    expect(sender.batches).toEqual([['a', 'b', 'c'], ['d']]);
    expect(sender.closedWithinMs).toBe(4000);
    expect(lost()).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('counts as lost what the sender does not take in time', async () => {
    const { buffer, sender, clock, write, lost } = start({ maxBatchEvents: 1, maxSends: 1 });
    sender.isHanging = true;
    await write('a', 'b', 'c');
    const closed = buffer.close(5000);
    await clock.advance(5000);
    await closed;
    expect(lost()).toBe(2);
    expect(sender.closedWithinMs).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
