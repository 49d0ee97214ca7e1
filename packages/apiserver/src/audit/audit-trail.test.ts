import { VirtualClock } from '@kapstan/api/testing';
import { expect, it } from 'vitest';
import type { AuditStage } from './audit-policy.ts';
import { AuditTrail } from './audit-trail.ts';

it('goes on with the answer when an event could not be written', async () => {
  let fail = (_error: Error): void => undefined;
  const losses: unknown[] = [];
  const backends = {
    maxObjectBytes: 1024,
    write: () =>
      new Promise<boolean>((_resolve, reject) => {
        fail = reject;
      }),
    reportLoss: (error: unknown) => void losses.push(error),
  };
  const start = {
    ...{ auditId: 'a', requestUri: '/', verb: 'get', user: { name: 'alice', groups: [] }, sourceIps: [] },
    ...{ userAgent: '', objectRef: undefined, receivedMs: 0 },
  };
  const decision = { level: 'Metadata', omitStages: new Set<AuditStage>(), omitManagedFields: false } as const;
  const clock = new VirtualClock();
  const trail = new AuditTrail({ start, decision, backends, clock, isLongRunning: false });
  const received = trail.receive();
  fail(new Error('broken'));
  expect(await received).toBe(false);
  expect(trail.recorded).toBeUndefined();
  expect(losses).toEqual([new Error('broken')]);
});
