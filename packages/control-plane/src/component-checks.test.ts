import { systemClock } from '@kapstan/api';
import type { Engine } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { componentChecks } from './component-checks.ts';

const engine = (health: () => Promise<void>): Engine => ({ checkHealth: health }) as unknown as Engine;

describe('the parts of a control plane', () => {
  it('are what Kubernetes has, and the stores', async () => {
    const checks = componentChecks(
      [engine(async () => undefined), engine(() => Promise.reject(new Error('no space left')))],
      systemClock,
    );
    expect([...checks.keys()]).toEqual(['scheduler', 'controller-manager', 'etcd-0', 'etcd-1']);
    expect(await checks.get('etcd-0')?.()).toEqual({ status: 'True', message: 'ok' });
    expect(await checks.get('etcd-1')?.()).toEqual({
      status: 'False',
      message: 'no space left',
      error: 'no space left',
    });
    const refused = 'Get "https://127.0.0.1:10259/healthz": dial tcp 127.0.0.1:10259: connect: connection refused';
    expect(await checks.get('scheduler')?.()).toEqual({ status: 'False', message: refused });
  });
});
