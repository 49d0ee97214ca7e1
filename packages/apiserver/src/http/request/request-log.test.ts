import { channel } from 'node:diagnostics_channel';
import { VirtualClock } from '@kapstan/api/testing';
import { type StoreSpan, storeChannelName } from '@kapstan/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseRequestInfo } from '../exchange/request-info.ts';
import { RequestLog } from './request-log.ts';

let clock: VirtualClock;
let log: RequestLog;
beforeEach(() => {
  clock = new VirtualClock();
  log = new RequestLog({ clock, hidesNames: ({ resource }) => resource === 'secrets' });
});
afterEach(() => log.close());

/** Begins a request; the result ends it. */
function begin(path: string, auditId = path) {
  let close: () => void = () => undefined;
  const exchange = {
    auditId,
    status: 200,
    steps: undefined as { enter(step: string, userName?: string): void } | undefined,
    onClose: (callback: () => void) => {
      close = callback;
    },
  };
  log.begin(exchange as never, parseRequestInfo({ method: 'GET', path, query: new URLSearchParams() }));
  return { exchange, end: () => close() };
}

describe('the log of requests', () => {
  it('has those under way with the steps so far, and forgets them at their end', async () => {
    const { exchange, end } = begin('/api/v1/namespaces/default/configmaps/a');
    exchange.steps?.enter('authentication');
    await clock.advance(2);
    exchange.steps?.enter('handler', 'ann');
    expect([...log.underWay.values()].map(({ request }) => request)).toMatchObject([
      {
        verb: 'get',
        resource: 'configmaps',
        namespace: 'default',
        name: 'a',
        user: 'ann',
        durationMs: undefined,
        steps: [
          { step: 'authentication', durationMs: 2 },
          { step: 'handler', durationMs: undefined },
        ],
      },
    ]);
    end();
    expect([log.underWay.size, log.slow.total]).toEqual([0, 0]);
  });

  it('keeps the last fifty that took half a second, the last one first', async () => {
    const many = Array.from({ length: 60 }, (_, index) => begin(`/api/v1/namespaces/default/pods/p-${index}`));
    await clock.advance(500);
    for (const { end } of many) end();
    const { total, items } = log.slow;
    expect([total, items.length, items[0]?.name, items[0]?.durationMs]).toEqual([60, 50, 'p-59', 500]);
  });

  it('does not count a request that was a little quicker', async () => {
    const { end } = begin('/version');
    await clock.advance(499);
    end();
    expect(log.slow.total).toBe(0);
  });

  it('says what the storage did for a request, and which step took longest', async () => {
    const { end } = begin('/api/v1/pods', 'an-id');
    const span: StoreSpan = {
      name: 'Create etcd3',
      attributes: { 'audit-id': 'an-id', key: '/pods/x' },
      startMs: 0,
      durationMs: 700,
      steps: [
        { name: 'About to Encode', atMs: 1 },
        { name: 'Txn call succeeded', atMs: 690 },
      ],
    };
    channel(storeChannelName).publish(span);
    channel(storeChannelName).publish({ ...span, attributes: {} });
    await clock.advance(700);
    end();
    expect(log.slow.items[0]?.steps).toEqual([
      { step: 'storage: Create etcd3, most of it before "Txn call succeeded"', durationMs: 700 },
    ]);
  });

  it('leaves out watches, names of Secrets and queries', () => {
    begin('/api/v1/watch/pods');
    begin('/api/v1/namespaces/default/secrets/db-password');
    const shown = JSON.stringify([...log.underWay.values()].map(({ request }) => request));
    expect(log.underWay.size).toBe(1);
    expect(shown).not.toContain('db-password');
  });

  it('listens to the storage no longer once it is closed', () => {
    expect(channel(storeChannelName).hasSubscribers).toBe(true);
    log.close();
    expect(channel(storeChannelName).hasSubscribers).toBe(false);
  });
});
