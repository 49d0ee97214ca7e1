// The rules of pod security against answers of the Go library: random pods at all levels and versions. Recorded from
// k8s.io/pod-security-admission 0.36.3.
import { readFileSync } from 'node:fs';
import type { Pod } from '@kapstan/kinds/core/v1';
import { describe, expect, it } from 'vitest';
import { type LevelVersion, parseLevel, parseVersion } from './level-version.ts';
import { formatViolations, podViolations, violationsInSlices } from './pod-checks.ts';
import { checkedPod } from './pod-template.ts';

interface RecordedPod {
  readonly level: string;
  readonly version: string;
  readonly pod: Pod;
  /** "" where the pod may be created. */
  readonly detail: string;
}

const file = new URL('../../testing/recorded-pod-security.json', import.meta.url);
const recorded = JSON.parse(readFileSync(file, 'utf8')) as RecordedPod[];

function detailOf(pod: Pod, policy: LevelVersion): string {
  return formatViolations(podViolations(checkedPod(pod), policy));
}

describe('the rules of pod security', () => {
  it('find in recorded pods what the Go library found', () => {
    const differences = recorded.filter(({ level, version, pod, detail }) => {
      const policy = { level: parseLevel(level) ?? 'privileged', version: parseVersion(version) ?? 'latest' } as const;
      return detailOf(pod, policy) !== detail;
    });
    expect(differences).toEqual([]);
    const forbidden = recorded.filter(({ detail }) => detail !== '').length;
    expect([recorded.length, forbidden]).toEqual([130, 115]);
  });

  it('look at many containers in slices', () => {
    const containers = Array.from({ length: 2_000 }, (_, i) => ({
      name: `c${i}`,
      securityContext: { privileged: true },
    }));
    const pod = checkedPod({ spec: { containers } });
    const policy = { level: 'restricted', version: 'latest' } as const;
    const work = violationsInSlices(pod, policy);
    let steps = 1;
    let step = work.next();
    for (; step.done !== true; step = work.next()) steps++;
    expect(steps).toBeGreaterThan(10);
    expect(step.value).toEqual(podViolations(pod, policy));
  });

  it('of the newest version hold for all later ones', () => {
    const pod: Pod = {
      spec: { containers: [{ name: 'a', securityContext: { procMount: 'Unmasked' } }], hostUsers: false },
    };
    const details = ([34, 35, 36, 2 ** 40, 'latest'] as const).map((version) =>
      detailOf(pod, { level: 'baseline', version }),
    );
    const masked = 'procMount (container "a" must not set securityContext.procMount to "Unmasked")';
    expect(details).toEqual([masked, '', '', '', '']);
  });
});
