import { describe, expect, it } from 'vitest';
import { HealthMetrics } from './health-metrics.ts';

describe('HealthMetrics', () => {
  it('show the last result of each check, and how often there was which', () => {
    const metrics = new HealthMetrics();
    for (const isHealthy of [true, true, false]) metrics.observe({ name: 'etcd', type: 'readyz' }, isHealthy);
    metrics.observe({ name: 'etcd', type: 'livez' }, true);
    expect(metrics.metrics().split('\n')).toEqual([
      '# HELP kubernetes_healthcheck Last result of a health check.',
      '# TYPE kubernetes_healthcheck gauge',
      'kubernetes_healthcheck{name="etcd",type="readyz"} 0',
      'kubernetes_healthcheck{name="etcd",type="livez"} 1',
      '# HELP kubernetes_healthchecks_total Results of health checks.',
      '# TYPE kubernetes_healthchecks_total counter',
      'kubernetes_healthchecks_total{name="etcd",type="readyz",status="success"} 2',
      'kubernetes_healthchecks_total{name="etcd",type="readyz",status="error"} 1',
      'kubernetes_healthchecks_total{name="etcd",type="livez",status="success"} 1',
      '',
    ]);
  });
});
