import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { AuditCounts } from './audit-counts.ts';
import { AuditWebhook } from './audit-webhook.ts';
import { recordOf } from './testing/audit-events.ts';

function start(initialBackoffMs?: number) {
  const bodies: string[] = [];
  const told: string[] = [];
  const clock = new VirtualClock();
  const counts = new AuditCounts();
  const state = { isBroken: false, isHanging: false, closes: 0 };
  const target = {
    post: async (body: Uint8Array, signal: AbortSignal): Promise<void> => {
      bodies.push(Buffer.from(body).toString());
      if (state.isHanging)
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      if (state.isBroken) throw new Error('connect ECONNREFUSED');
    },
    close: async (): Promise<void> => void state.closes++,
  };
  const tell = (message: string): void => void told.push(message);
  const logger = { ...silentLogger, warn: tell, error: tell };
  const webhook = new AuditWebhook({ target, initialBackoffMs, counts, clock, logger, random: () => 0.5 });
  const lost = (): number => Number(/webhook"} (\d+)/.exec(counts.metrics())?.[1] ?? 0);
  return { webhook, bodies, told, clock, state, lost };
}

describe('an audit webhook', () => {
  it('gets an EventList whose items have no type of their own', async () => {
    const { webhook, bodies } = start();
    expect(await webhook.send([recordOf('a'), recordOf('b')])).toBe(true);
    const item = (id: string) =>
      `{"level":"Metadata","auditID":"${id}","stage":"RequestReceived","requestURI":"/","verb":"get","user":{},"requestReceivedTimestamp":"1970-01-01T00:00:00.000000Z","stageTimestamp":"1970-01-01T00:00:00.000000Z"}`;
    expect(bodies).toEqual([
      `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${item('a')},${item('b')}]}\n`,
    ]);
  });

  it('is asked five times, with growing pauses, and then the events are lost and counted', async () => {
    const { webhook, bodies, told, clock, state, lost } = start();
    state.isBroken = true;
    const sent = webhook.send([recordOf('a'), recordOf('b')]);
    const asked: number[] = [];
    for (const pauseMs of [11_000, 16_500, 24_750, 37_125]) {
      await clock.advance(pauseMs - 1);
      asked.push(bodies.length);
      await clock.advance(1);
    }
    expect(asked).toEqual([1, 2, 3, 4]);
    expect(await sent).toBe(false);
    expect(bodies).toHaveLength(5);
    expect(lost()).toBe(2);
    expect(told).toEqual(['the audit webhook does not take events; they are lost until it does']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('loses nothing that it accepts at the second attempt, and logs once that it is back', async () => {
    const { webhook, told, clock, state, lost } = start(1000);
    state.isBroken = true;
    const first = webhook.send([recordOf('a')]);
    await clock.advance(100_000);
    expect(await first).toBe(false);
    const second = webhook.send([recordOf('b')]);
    state.isBroken = false;
    await clock.advance(1100);
    expect(await second).toBe(true);
    expect(lost()).toBe(1);
    expect(told.at(-1)).toBe('the audit webhook takes events again');
    expect(told).toHaveLength(2);
  });

  it.each(['hangs', 'is gone'])('is given up when the time to close is over and it %s', async (how) => {
    const { webhook, clock, state, lost } = start();
    state.isHanging = how === 'hangs';
    state.isBroken = how === 'is gone';
    const sent = webhook.send([recordOf('a')]);
    await clock.advance(0);
    const closed = webhook.close(5000);
    await clock.advance(5000);
    await closed;
    expect(await sent).toBe(false);
    expect(lost()).toBe(1);
    expect(state.closes).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });
});
