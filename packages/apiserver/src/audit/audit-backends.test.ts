import { describe, expect, it } from 'vitest';
import type { AuditTruncation } from './audit-backend.ts';
import { AuditBackends, type AuditBackendsOptions } from './audit-backends.ts';
import { auditEvent } from './testing/audit-events.ts';

interface Item {
  readonly auditID: string;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
  readonly annotations?: Record<string, string>;
}

function start({ log, webhook, ...options }: { log?: object; webhook?: object; maxObjectBytes?: number }) {
  const lines: Item[] = [];
  const posted: Item[] = [];
  const state = { isLogBroken: false, isWebhookBroken: false };
  const append = async (bytes: Uint8Array): Promise<void> => {
    if (state.isLogBroken) throw new Error('ENOSPC');
    const texts = Buffer.from(bytes).toString().trimEnd().split('\n');
    lines.push(...texts.map((text) => JSON.parse(text)));
  };
  const post = async (body: Uint8Array): Promise<void> => {
    if (state.isWebhookBroken) throw new Error('ECONNREFUSED');
    posted.push(...JSON.parse(Buffer.from(body).toString()).items);
  };
  const backends = new AuditBackends({
    log: log && ({ target: { append }, ...log } as AuditBackendsOptions['log']),
    webhook: webhook && ({ target: { post }, initialBackoffMs: 0, ...webhook } as AuditBackendsOptions['webhook']),
    ...options,
  });
  const count = (name: string): number =>
    Number(
      backends
        .metrics()
        .split('\n')
        .find((text) => text.startsWith(name))
        ?.split(' ')[1] ?? 0,
    );
  return { backends, lines, posted, state, count };
}

const strict = { mode: 'blocking-strict' };
const blocking = { mode: 'blocking' };
const large = auditEvent('a', {
  level: 'RequestResponse',
  requestObject: '"x"',
  responseObject: `"${'é'.repeat(1000)}"`,
});
const truncation = (maxEventBytes: number): AuditTruncation => ({ maxEventBytes, maxBatchBytes: 10_000 });

describe('audit backends', () => {
  it('both get each event, which counts once', async () => {
    const { backends, lines, posted, count } = start({ log: blocking, webhook: blocking });
    expect(await backends.write(auditEvent('a'))).toBe(true);
    expect([lines, posted].map((items) => items.map(({ auditID }) => auditID))).toEqual([['a'], ['a']]);
    expect(count('apiserver_audit_event_total')).toBe(1);
    expect(count('apiserver_audit_error_total')).toBe(0);
    await backends.close();
  });

  it.each([
    ['log', strict, blocking, false],
    ['log', blocking, strict, true],
    ['webhook', strict, blocking, true],
    ['webhook', blocking, strict, false],
  ] as const)(
    'a broken %s refuses a request only in its own strict mode: %j %j',
    async (broken, log, webhook, goesOn) => {
      const { backends, state, lines, posted, count } = start({ log, webhook });
      state.isLogBroken = broken === 'log';
      state.isWebhookBroken = broken === 'webhook';
      expect(await backends.write(auditEvent('a'))).toBe(goesOn);
      expect([...lines, ...posted]).toHaveLength(1);
      expect(count(`apiserver_audit_error_total{plugin="${broken}"}`)).toBe(1);
      await backends.close();
    },
  );

  it('take the objects out of a large event, each by its own limit', async () => {
    const { backends, lines, posted } = start({
      log: blocking,
      webhook: { ...blocking, truncation: truncation(1000) },
    });
    await backends.write(large);
    expect(lines).toMatchObject([{ requestObject: 'x', responseObject: 'é'.repeat(1000) }]);
    expect(lines[0]?.annotations).toBeUndefined();
    expect(posted).toHaveLength(1);
    expect(posted[0]).not.toHaveProperty('requestObject');
    expect(posted[0]).not.toHaveProperty('responseObject');
    expect(posted[0]?.annotations).toEqual({ 'audit.k8s.io/truncated': 'true' });
    await backends.close();
  });

  it('measure an event in bytes, with its type and its newline', async () => {
    const { backends, lines } = start({ log: blocking });
    await backends.write(large);
    const bytes = Buffer.byteLength(`${JSON.stringify(lines[0])}\n`);
    for (const [limit, isWhole] of [
      [bytes, true],
      [bytes - 1, false],
    ] as const) {
      const limited = start({ log: { ...blocking, truncation: truncation(limit) } });
      await limited.backends.write(large);
      expect(limited.lines[0]?.responseObject !== undefined).toBe(isWhole);
      await limited.backends.close();
    }
    await backends.close();
  });

  it('drop and count an event that is too large without objects, and refuse no request for it', async () => {
    const { backends, lines, count } = start({ log: { ...strict, truncation: truncation(400) } });
    expect(await backends.write({ ...large, requestUri: 'x'.repeat(400) })).toBe(true);
    expect(await backends.write(auditEvent('b', { requestUri: 'x'.repeat(400) }))).toBe(true);
    expect(lines).toEqual([]);
    expect(count('apiserver_audit_error_total{plugin="truncate"}')).toBe(2);
    await backends.close();
  });

  it('need no object that none of them takes', () => {
    const limit = (options: Parameters<typeof start>[0]): number => start(options).backends.maxObjectBytes;
    const truncated = { truncation: truncation(1000) };
    expect(limit({ log: {} })).toBe(10 * 1024 * 1024);
    expect(limit({ log: truncated })).toBe(1000);
    expect(limit({ log: truncated, webhook: { truncation: truncation(2000) } })).toBe(2000);
    expect(limit({ log: truncated, webhook: {}, maxObjectBytes: 5000 })).toBe(5000);
  });
});
