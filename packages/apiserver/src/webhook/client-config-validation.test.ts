import { describe, expect, it, vi } from 'vitest';
import { collectFieldErrors } from '../registry/meta/field.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { caBundleFault, validateClientConfig } from './client-config-validation.ts';

const unparsable = 'unable to load root certificates: unable to parse bytes as PEM block';
const malformed = 'unable to load root certificates: failed to parse certificate: x509: malformed certificate';
const begin = '-----BEGIN CERTIFICATE-----\n';
const end = '-----END CERTIFICATE-----\n';

describe('caBundleFault', () => {
  it.each([
    ['', undefined],
    ['\n\n', unparsable],
    [begin, unparsable],
    [end + begin, unparsable],
    [begin + end, malformed],
    [`${begin}-----BEGIN A-----\n-----END A-----${end}`, malformed],
    [`-----BEGIN KEY-----${begin}${end}`, malformed],
    [
      '-----BEGIN KEY-----\n-----END KEY-----END B-----',
      'unable to load root certificates: no valid certificate authority data seen',
    ],
  ])('%j', (pem, fault) => {
    expect(caBundleFault(pem)).toBe(fault);
  });

  it('searches no end for a beginning that has none', () => {
    const indexOf = vi.spyOn(String.prototype, 'indexOf');
    const fault = caBundleFault(begin.repeat(500) + end.replace('CERTIFICATE', 'KEY'));
    const searches = indexOf.mock.calls.filter(([wanted]) => wanted.startsWith('-----END')).length;
    indexOf.mockRestore();
    expect([fault, searches]).toEqual([unparsable, 0]);
  });
});

describe('a bundle of very many blocks', () => {
  it('counts the first 500 of them', async () => {
    const { cert } = await selfSigned('CN=a');
    const bad = begin + end;
    expect(caBundleFault(bad.repeat(499) + cert)).toBeUndefined();
    expect(caBundleFault(bad.repeat(500) + cert)).toBe(malformed);
    expect(caBundleFault(end.repeat(500) + cert)).toBe(unparsable);
    expect(caBundleFault(begin.replace('CERTIFICATE', 'A').repeat(500) + cert)).toBe(unparsable);
  });
});

describe('the path of a service', () => {
  const faultsOf = (path: string) =>
    collectFieldErrors((root) =>
      validateClientConfig(root, { service: { name: 'a', namespace: 'b', port: 443, path } }),
    ).map(({ detail }) => detail?.split(':')[0]);

  it.each([
    ['/', []],
    ['/a/b.c/', []],
    ['//', ['segment[0] may not be empty']],
    ['/a//b', ['segment[1] may not be empty']],
    ['/a/B/', ['segment[1]']],
    ['a/', ["must start with a '/'", 'segment[0] may not be empty']],
    ['///', ['segment[0] may not be empty', 'segment[1] may not be empty']],
  ])('%s', (path, faults) => {
    expect(faultsOf(path)).toEqual(faults);
  });
});
