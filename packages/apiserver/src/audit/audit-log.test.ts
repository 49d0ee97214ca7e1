import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import type { AuditMode } from './audit-backend.ts';
import { AuditBackends, type AuditBackendsOptions } from './audit-backends.ts';
import type { AuditEvent } from './audit-event.ts';
import type { AuditLogFormat, AuditLogTarget } from './audit-log.ts';
import { auditEvent } from './testing/audit-events.ts';

/** Keeps the written bytes, unless it is broken. */
class Memory implements AuditLogTarget {
  readonly pieces: string[] = [];
  isBroken = false;
  closes = 0;
  async append(lines: Uint8Array): Promise<void> {
    if (this.isBroken) throw new Error('ENOSPC: no space left on device');
    this.pieces.push(Buffer.from(lines).toString());
  }
  async close(): Promise<void> {
    this.closes++;
  }
  get ids(): string[] {
    return this.pieces
      .flatMap((piece) => piece.split('\n').filter((line) => line !== ''))
      .map((line) => JSON.parse(line).auditID);
  }
}

/** Writes when the test says so. */
class Slow extends Memory {
  release: () => void = () => undefined;
  override async append(lines: Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => {
      this.release = resolve;
    });
    await super.append(lines);
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface LogOptions extends Omit<AuditBackendsOptions, 'log' | 'webhook'> {
  readonly mode?: AuditMode;
  readonly format?: AuditLogFormat;
  readonly maxWaiting?: number;
}

function logOf(target: AuditLogTarget, { mode, format, maxWaiting, ...options }: LogOptions = {}) {
  const told: string[] = [];
  const tell = (message: string): void => void told.push(message);
  const logger = { debug: tell, info: tell, warn: tell, error: tell };
  const batching = { maxEvents: maxWaiting };
  const log = new AuditBackends({ log: { target, mode, format, batching }, logger, ...options });
  const count = async (name: string): Promise<number> => {
    const line = (await log.metrics()).split('\n').find((text) => text.startsWith(name));
    return Number(line?.split(' ')[1] ?? 0);
  };
  return { log, told, count };
}

describe.each(['blocking', 'blocking-strict'] as const)('an audit log in mode %s', (mode) => {
  it('has written an event when its request may go on', async () => {
    const memory = new Memory();
    const { log, count } = logOf(memory, { mode });
    expect(await log.write(auditEvent('a'))).toBe(true);
    expect(memory.ids).toEqual(['a']);
    await log.close();
    expect(memory.closes).toBe(1);
    expect(await count('apiserver_audit_event_total')).toBe(1);
    expect(await count('apiserver_audit_error_total')).toBe(0);
  });

  it('holds up the requests alone when the disk hangs, and keeps their order', async () => {
    const slow = new Slow();
    const { log } = logOf(slow, { mode });
    const order: string[] = [];
    const write = (id: string) => log.write(auditEvent(id)).then(() => order.push(id));
    const written = [write('a')];
    await nextTurn();
    written.push(write('b'), write('c'));
    await nextTurn();
    expect(order).toEqual([]);
    slow.release();
    await nextTurn();
    expect(order).toEqual(['a']);
    slow.release();
    await Promise.all(written);
    expect(order).toEqual(['a', 'b', 'c']);
    expect(slow.ids).toEqual(order);
    expect(slow.pieces).toHaveLength(2);
  });

  it('keeps no request waiting for events beyond its limit, nor for those that its end does not wait for', async () => {
    const slow = new Slow();
    const clock = new VirtualClock();
    const { log, count } = logOf(slow, { mode, maxWaiting: 2, clock });
    const waiting = [log.write(auditEvent('a')), log.write(auditEvent('b'))];
    expect(await log.write(auditEvent('c'))).toBe(mode === 'blocking');
    const closed = log.close();
    await nextTurn();
    waiting.push(log.write(auditEvent('d')));
    await clock.advance(10_000);
    await closed;
    expect(await waiting[2]).toBe(mode === 'blocking');
    expect(await count('apiserver_audit_error_total{plugin="buffered"}')).toBe(2);
    slow.release();
    expect(await Promise.all(waiting)).toEqual([true, true, mode === 'blocking']);
  });

  it('counts lost events, and reports the loss once until it works again', async () => {
    const memory = new Memory();
    const { log, told, count } = logOf(memory, { mode });
    memory.isBroken = true;
    expect([await log.write(auditEvent('a')), await log.write(auditEvent('b'))]).toEqual(
      Array(2).fill(mode === 'blocking'),
    );
    memory.isBroken = false;
    expect(await log.write(auditEvent('c'))).toBe(true);
    expect(memory.ids).toEqual(['c']);
    expect(told).toEqual([
      'the audit log cannot be written; events are lost until it can be',
      'the audit log is written again',
    ]);
    expect(await count('apiserver_audit_error_total{plugin="log"}')).toBe(2);
    expect(await count('apiserver_audit_event_total')).toBe(3);
  });
});

describe('an audit log in mode batch', () => {
  it('does not wait for the file, and keeps the order', async () => {
    const slow = new Slow();
    const { log } = logOf(slow, { mode: 'batch' });
    for (const id of ['a', 'b']) void log.write(auditEvent(id));
    expect(slow.ids).toEqual([]);
    await nextTurn();
    void log.write(auditEvent('c'));
    slow.release();
    await nextTurn();
    expect(slow.ids).toEqual(['a', 'b']);
    slow.release();
    await log.close();
    expect(slow.ids).toEqual(['a', 'b', 'c']);
    expect(slow.pieces).toHaveLength(2);
  });

  it('begins anew after all was written', async () => {
    const memory = new Memory();
    const { log } = logOf(memory, { mode: 'batch' });
    void log.write(auditEvent('a'));
    await nextTurn();
    await nextTurn();
    void log.write(auditEvent('b'));
    await log.close();
    expect(memory.ids).toEqual(['a', 'b']);
  });

  it('drops and counts what comes while so many wait', async () => {
    const slow = new Slow();
    const { log, count } = logOf(slow, { mode: 'batch', maxWaiting: 3 });
    for (const id of ['a', 'b', 'c', 'd', 'e']) expect(await log.write(auditEvent(id))).toBe(true);
    expect(await count('apiserver_audit_error_total{plugin="buffered"}')).toBe(2);
    await nextTurn();
    slow.release();
    await log.close();
    expect(slow.ids).toEqual(['a', 'b', 'c']);
  });

  it('drops and counts what comes while so many bytes wait or are being written', async () => {
    const slow = new Slow();
    const memory = new Memory();
    await logOf(memory).log.write(auditEvent('a'));
    const bytes = Buffer.byteLength(memory.pieces.join(''));
    const { log, count } = logOf(slow, { mode: 'batch', maxWaitingBytes: 2 * bytes });
    for (const id of ['a', 'é']) void log.write(auditEvent(id));
    expect(await count('apiserver_audit_error_total{plugin="buffered"}')).toBe(1);
    void log.write(auditEvent('b'));
    await nextTurn();
    void log.write(auditEvent('c'));
    expect(await count('apiserver_audit_error_total{plugin="buffered"}')).toBe(2);
    slow.release();
    await nextTurn();
    for (const id of ['d', 'e', 'f']) void log.write(auditEvent(id));
    expect(await count('apiserver_audit_error_total{plugin="buffered"}')).toBe(3);
    await nextTurn();
    slow.release();
    await log.close();
    expect(slow.ids).toEqual(['a', 'b', 'd', 'e']);
  });

  it('is closed in time when the disk hangs, and counts what is lost', async () => {
    const slow = new Slow();
    const clock = new VirtualClock();
    const { log, told, count } = logOf(slow, { mode: 'batch', clock });
    void log.write(auditEvent('a'));
    await nextTurn();
    for (const id of ['b', 'c']) void log.write(auditEvent(id));
    const closed = log.close();
    await clock.advance(10_000);
    await closed;
    expect(await count('apiserver_audit_error_total{plugin="buffered"}')).toBe(2);
    expect(told).toEqual(['the audit log does not take the waiting events in time; they are lost']);
    expect(slow.closes).toBe(0);
    slow.release();
    await nextTurn();
    expect(slow.ids).toEqual(['a']);
    expect(slow.closes).toBe(1);
  });

  it('leaves no timer when it is closed in time', async () => {
    const clock = new VirtualClock();
    const { log } = logOf(new Memory(), { mode: 'batch', clock });
    void log.write(auditEvent('a'));
    await log.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('goes on after what could not be written', async () => {
    const memory = new Memory();
    const { log, count } = logOf(memory, { mode: 'batch' });
    memory.isBroken = true;
    for (const id of ['a', 'b']) void log.write(auditEvent(id));
    await nextTurn();
    memory.isBroken = false;
    void log.write(auditEvent('c'));
    await log.close();
    expect(memory.ids).toEqual(['c']);
    expect(await count('apiserver_audit_error_total{plugin="log"}')).toBe(2);
  });
});

it('writes no more than a file takes in one go, but for one event that is longer', async () => {
  const memory = new Memory();
  const { log } = logOf(memory);
  const long = (mebibytes: number): AuditEvent => ({
    ...auditEvent('a'),
    requestUri: 'x'.repeat(mebibytes * 1024 * 1024),
  });
  await Promise.all([0.6, 0.3, 0.6, 1.2, 0.1, 0.1].map((size) => log.write(long(size))));
  expect(memory.pieces.map((piece) => piece.split('\n').length - 1)).toEqual([2, 1, 1, 2]);
});

it('writes lines of text when that is asked', async () => {
  const memory = new Memory();
  await logOf(memory, { format: 'legacy' }).log.write(auditEvent('a'));
  expect(memory.pieces.join('')).toMatch(/^1970-01-01T00:00:00Z AUDIT: id="a" .*\n$/);
});

it('counts levels and refusals', async () => {
  const { log, count } = logOf(new Memory());
  log.countLevel('None');
  log.countLevel('None');
  log.countRejection();
  expect(await count('apiserver_audit_level_total{level="None"}')).toBe(2);
  expect(await count('apiserver_audit_requests_rejected_total')).toBe(1);
});
