import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import type { AuditEvent } from './audit-event.ts';
import { AuditLog, type AuditLogOptions, type AuditLogTarget } from './audit-log.ts';

const event = (auditId: string): AuditEvent => ({
  level: 'Metadata',
  auditId,
  stage: 'RequestReceived',
  requestUri: '/',
  verb: 'get',
  user: undefined,
  impersonatedUser: undefined,
  impersonationConstraint: undefined,
  sourceIps: [],
  userAgent: '',
  objectRef: undefined,
  responseStatus: undefined,
  requestObject: undefined,
  responseObject: undefined,
  receivedMs: 0,
  stageMs: 0,
  annotations: new Map(),
});

/** Keeps what it is given, unless it is broken. */
class Memory implements AuditLogTarget {
  readonly pieces: string[] = [];
  isBroken = false;
  closes = 0;
  append(lines: Uint8Array): void {
    if (this.isBroken) throw new Error('ENOSPC: no space left on device');
    this.pieces.push(Buffer.from(lines).toString());
  }
  close(): void {
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
  async appendLater(lines: Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => {
      this.release = resolve;
    });
    this.append(lines);
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function logOf(target: AuditLogTarget, options: Partial<AuditLogOptions> = {}) {
  const told: string[] = [];
  const tell = (message: string): void => void told.push(message);
  const logger = { debug: tell, info: tell, warn: tell, error: tell };
  const log = new AuditLog({ target, logger, ...options });
  const count = async (name: string): Promise<number> => {
    const line = (await log.metrics.metrics()).split('\n').find((text) => text.startsWith(name));
    return Number(line?.split(' ')[1] ?? 0);
  };
  return { log, told, count };
}

describe.each(['blocking', 'blocking-strict'] as const)('an audit log in mode %s', (mode) => {
  it('has written an event when the call returns', async () => {
    const memory = new Memory();
    const { log, count } = logOf(memory, { mode });
    expect(log.write(event('a'))).toBe(true);
    expect(memory.ids).toEqual(['a']);
    await log.close();
    expect(memory.closes).toBe(1);
    expect(await count('apiserver_audit_event_total')).toBe(1);
    expect(await count('apiserver_audit_error_total')).toBe(0);
  });

  it('counts what is lost, and tells it once until it works again', async () => {
    const memory = new Memory();
    const { log, told, count } = logOf(memory, { mode });
    memory.isBroken = true;
    expect([log.write(event('a')), log.write(event('b'))]).toEqual(Array(2).fill(mode === 'blocking'));
    memory.isBroken = false;
    expect(log.write(event('c'))).toBe(true);
    expect(memory.ids).toEqual(['c']);
    expect(told).toEqual(['The audit log cannot be written; events are lost', 'The audit log is written again']);
    expect(await count('apiserver_audit_error_total{plugin="log"}')).toBe(2);
    expect(await count('apiserver_audit_event_total')).toBe(3);
  });
});

describe('an audit log in mode batch', () => {
  it('does not wait for the file, and keeps the order', async () => {
    const slow = new Slow();
    const { log } = logOf(slow, { mode: 'batch' });
    for (const id of ['a', 'b']) log.write(event(id));
    expect(slow.ids).toEqual([]);
    await nextTurn();
    log.write(event('c'));
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
    log.write(event('a'));
    await nextTurn();
    await nextTurn();
    log.write(event('b'));
    await log.close();
    expect(memory.ids).toEqual(['a', 'b']);
  });

  it('drops and counts what comes while so many wait', async () => {
    const slow = new Slow();
    const { log, count } = logOf(slow, { mode: 'batch', maxWaiting: 3 });
    for (const id of ['a', 'b', 'c', 'd', 'e']) expect(log.write(event(id))).toBe(true);
    expect(await count('apiserver_audit_error_total{plugin="buffered"}')).toBe(2);
    await nextTurn();
    slow.release();
    await log.close();
    expect(slow.ids).toEqual(['a', 'b', 'c']);
  });

  it('drops and counts what comes while so many bytes wait or are being written', async () => {
    const slow = new Slow();
    const memory = new Memory();
    logOf(memory).log.write(event('a'));
    const bytes = Buffer.byteLength(memory.pieces.join(''));
    const { log, count } = logOf(slow, { mode: 'batch', maxWaitingBytes: 2 * bytes });
    for (const id of ['a', 'é']) log.write(event(id));
    expect(await count('apiserver_audit_error_total{plugin="buffered"}')).toBe(1);
    log.write(event('b'));
    await nextTurn();
    log.write(event('c'));
    expect(await count('apiserver_audit_error_total{plugin="buffered"}')).toBe(2);
    slow.release();
    await nextTurn();
    for (const id of ['d', 'e', 'f']) log.write(event(id));
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
    log.write(event('a'));
    await nextTurn();
    for (const id of ['b', 'c']) log.write(event(id));
    const closed = log.close();
    await clock.advance(10_000);
    await closed;
    expect(await count('apiserver_audit_error_total{plugin="buffered"}')).toBe(2);
    expect(told).toEqual(['The audit log does not take what waits; events are lost']);
    expect(slow.closes).toBe(0);
    slow.release();
    await nextTurn();
    expect(slow.ids).toEqual(['a']);
    expect(slow.closes).toBe(1);
  });

  it('leaves no timer when it is closed in time', async () => {
    const clock = new VirtualClock();
    const { log } = logOf(new Memory(), { mode: 'batch', clock });
    log.write(event('a'));
    await log.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('goes on after what could not be written', async () => {
    const memory = new Memory();
    const { log, count } = logOf(memory, { mode: 'batch' });
    memory.isBroken = true;
    for (const id of ['a', 'b']) log.write(event(id));
    await nextTurn();
    memory.isBroken = false;
    log.write(event('c'));
    await log.close();
    expect(memory.ids).toEqual(['c']);
    expect(await count('apiserver_audit_error_total{plugin="log"}')).toBe(2);
  });
});

it('writes lines of text when that is asked', () => {
  const memory = new Memory();
  logOf(memory, { format: 'legacy' }).log.write(event('a'));
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
