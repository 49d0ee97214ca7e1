import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isKnownFormat, isOfFormat } from './string-formats.ts';

// What kube-apiserver 1.36.3 answered to creates of a custom resource that has one property per format, all with the
// same value: the formats that the value has. Every value is a password, which is therefore left out.
const recorded = JSON.parse(
  readFileSync(new URL('../../../fixtures/string-formats.json', import.meta.url), 'utf8'),
) as readonly (readonly [value: string, formats: string])[];

const formats = [...new Set(recorded.flatMap(([, accepted]) => accepted.split(' ')))].filter((name) => name !== '');

describe('the formats of strings', () => {
  it('are known', () => {
    expect(recorded.length).toBeGreaterThan(1_000);
    expect(formats).toHaveLength(25);
    for (const format of [...formats, 'password', 'datetime']) expect(isKnownFormat(format), format).toBe(true);
    for (const format of ['int32', 'labelKey', 'ulid', '']) expect(isKnownFormat(format), format).toBe(false);
  });

  it.each(formats)('%s: recorded values are accepted and refused as Kubernetes does', (format) => {
    const wrong = recorded.filter(
      ([value, accepted]) => isOfFormat(value, format) !== accepted.split(' ').includes(format),
    );
    expect(wrong.map(([value]) => value)).toEqual([]);
  });
});
