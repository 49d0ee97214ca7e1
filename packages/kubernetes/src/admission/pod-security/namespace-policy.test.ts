import { formatFieldError } from '@kapstan/api/errors';
import { describe, expect, it } from 'vitest';
import { formatLevelVersion, type LevelVersion } from './level-version.ts';
import { isSamePolicy, type NamespacePolicy, readPolicy } from './namespace-policy.ts';

const open: LevelVersion = { level: 'privileged', version: 'latest' };
const defaults: NamespacePolicy = { enforce: open, audit: open, warn: open };

function read(labels: Record<string, string>, from = defaults): [string, string[]] {
  const prefixed = Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]);
  const { policy, errors } = readPolicy(Object.fromEntries(prefixed), from);
  const shown = [policy.enforce, policy.audit, policy.warn].map(formatLevelVersion).join(' ');
  return [shown, errors.map(formatFieldError)];
}

describe('the policy of a namespace', () => {
  it('is the default without labels', () => {
    expect(readPolicy(undefined, defaults)).toEqual({ policy: defaults, errors: [] });
  });

  it.each<[Record<string, string>, string]>([
    [{ enforce: 'baseline' }, 'baseline:latest privileged:latest baseline:latest'],
    [{ enforce: 'baseline', 'enforce-version': 'v1.20' }, 'baseline:v1.20 privileged:latest baseline:v1.20'],
    [{ enforce: 'restricted', warn: 'baseline' }, 'restricted:latest privileged:latest baseline:latest'],
    [
      { enforce: 'restricted', 'enforce-version': 'v1.20', 'warn-version': 'v1.30' },
      'restricted:v1.20 privileged:latest restricted:v1.30',
    ],
    [{ enforce: 'privileged' }, 'privileged:latest privileged:latest privileged:latest'],
    [{ audit: 'restricted', 'audit-version': 'v1.0' }, 'privileged:latest restricted:v1.0 privileged:latest'],
  ])('by %j is %s', (labels, expected) => {
    expect(read(labels)).toEqual([expected, []]);
  });

  it('keeps a default warning that is stricter than what is enforced', () => {
    const strict: NamespacePolicy = { ...defaults, warn: { level: 'restricted', version: 1 } };
    expect(read({ enforce: 'baseline' }, strict)).toEqual(['baseline:latest privileged:latest restricted:v1.1', []]);
  });

  it.each<[Record<string, string>, string, string]>([
    [
      { enforce: 'strict' },
      'restricted:latest privileged:latest privileged:latest',
      'enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted',
    ],
    [
      { audit: 'Baseline' },
      'privileged:latest privileged:latest privileged:latest',
      'audit]: Invalid value: "Baseline": must be one of privileged, baseline, restricted',
    ],
    [
      { warn: '' },
      'privileged:latest privileged:latest privileged:latest',
      'warn]: Invalid value: "": must be one of privileged, baseline, restricted',
    ],
    ...['v1', 'v2.0', 'v1.01', '1.20', 'v1.9223372036854775808', 'Latest', 'v1.1 '].map(
      (version): [Record<string, string>, string, string] => [
        { 'enforce-version': version },
        'privileged:latest privileged:latest privileged:latest',
        `enforce-version]: Invalid value: ${JSON.stringify(version)}: must be "latest" or "v1.x"`,
      ],
    ),
  ])('by %j is %s, with an error', (labels, expected, error) => {
    expect(read(labels)).toEqual([expected, [`metadata.labels[pod-security.kubernetes.io/${error}`]]);
  });

  it('is the same as another one that allows the same pods', () => {
    const older: NamespacePolicy = { ...defaults, audit: { level: 'privileged', version: 3 } };
    const baseline: NamespacePolicy = { ...defaults, audit: { level: 'baseline', version: 3 } };
    expect([isSamePolicy(defaults, older), isSamePolicy(defaults, baseline)]).toEqual([true, false]);
  });
});
