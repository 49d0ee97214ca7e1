import { describe, expect, it } from 'vitest';
import { formatApiVersion, formatGroupKind, formatGroupResource, parseApiVersion } from '../objects/group-version.ts';
import { metaNamespaceKey, objectKey, splitMetaNamespaceKey } from '../objects/object-key.ts';
import { apiVersionOf, groupVersionResourceOf, resource, resourcePath } from '../resources/resource.ts';
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from './qualified-name.ts';

describe('object keys', () => {
  it('are namespace/name, or name alone', () => {
    expect(metaNamespaceKey({ metadata: { name: 'a', namespace: 'x' } })).toBe('x/a');
    expect(metaNamespaceKey({ metadata: { name: 'a' } })).toBe('a');
    expect(objectKey('', 'a')).toBe('a');
    expect(() => metaNamespaceKey({})).toThrow('object has no meta');
  });

  it.each([
    ['a', { namespace: '', name: 'a' }],
    ['x/a', { namespace: 'x', name: 'a' }],
    ['', { namespace: '', name: '' }],
    ['a/', { namespace: 'a', name: '' }],
    ['/b', { namespace: '', name: 'b' }],
  ])('split %j', (key, name) => {
    expect(splitMetaNamespaceKey(key)).toEqual(name);
  });

  it('do not split with two slashes', () => {
    expect(() => splitMetaNamespaceKey('a/b/c')).toThrow('unexpected key format: "a/b/c"');
  });
});

describe('groups, versions and resources', () => {
  it('print and parse', () => {
    expect([
      formatApiVersion({ group: '', version: 'v1' }),
      formatApiVersion({ group: 'apps', version: 'v1' }),
    ]).toEqual(['v1', 'apps/v1']);
    expect([parseApiVersion('v1'), parseApiVersion('apps/v1')]).toEqual([
      { group: '', version: 'v1' },
      { group: 'apps', version: 'v1' },
    ]);
    expect(() => parseApiVersion('a/b/c')).toThrow('unexpected GroupVersion string: a/b/c');
    expect(formatGroupResource({ group: 'apps', resource: 'deployments' })).toBe('deployments.apps');
    expect([
      formatGroupKind({ group: '', kind: 'Pod' }),
      formatGroupKind({ group: 'apps', kind: 'Deployment' }),
    ]).toEqual(['Pod', 'Deployment.apps']);
  });

  it.each([
    ['Pod', 'pods'],
    ['Ingress', 'ingresses'],
    ['NetworkPolicy', 'networkpolicies'],
    ['Gateway', 'gateways'],
    ['Endpoints', 'endpoints'],
    ['Box', 'boxes'],
    ['Match', 'matches'],
  ])('guess the plural of %s', (kind, plural) => {
    expect(resource({ group: '', version: 'v1', kind }).plural).toBe(plural);
  });

  it('make paths', () => {
    const pods = resource({ group: '', version: 'v1', kind: 'Pod' });
    const nodes = resource({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
    const deployments = resource({ group: 'apps', version: 'v1', kind: 'Deployment' });
    expect(resourcePath(pods)).toBe('/api/v1/pods');
    expect(resourcePath(pods, { namespace: 'x', name: 'a' })).toBe('/api/v1/namespaces/x/pods/a');
    expect(resourcePath(nodes, { namespace: 'x', name: 'a' })).toBe('/api/v1/nodes/a');
    expect(resourcePath(deployments, { namespace: 'x', name: 'a/b', subresource: 'scale' })).toBe(
      '/apis/apps/v1/namespaces/x/deployments/a%2Fb/scale',
    );
    expect([apiVersionOf(deployments), groupVersionResourceOf(pods)]).toEqual([
      'apps/v1',
      { group: '', version: 'v1', resource: 'pods' },
    ]);
  });
});

describe('syntax of names', () => {
  it.each(['a', 'A.b_c-1', 'example.com/a', `${'a'.repeat(63)}`, `${'a'.repeat(253)}/a`])(
    'takes the qualified name %s',
    (name) => {
      expect(qualifiedNameErrors(name)).toEqual([]);
    },
  );

  it.each([
    ['', ['name part must be non-empty', /^name part must consist of/]],
    ['/a', ['prefix part must be non-empty']],
    ['a/', ['name part must be non-empty', /^name part must consist of/]],
    ['A.com/a', [/^prefix part a lowercase RFC 1123 subdomain must consist of/]],
    ['a'.repeat(64), ['name part must be no more than 63 bytes']],
    ['é'.repeat(32), ['name part must be no more than 63 bytes', /^name part must consist of/]],
    [`${'a'.repeat(254)}/a`, ['prefix part must be no more than 253 bytes']],
    ['-a', [/^name part must consist of/]],
    ['a\n', [/^name part must consist of/]],
    [
      'a/b/c',
      [
        /^a valid label key must consist of .* with an optional DNS subdomain prefix and '\/' \(e\.g\. 'example\.com\/MyName'\)$/,
      ],
    ],
  ])('refuses the qualified name %j', (name, expected) => {
    const found = qualifiedNameErrors(name);
    expect(found).toHaveLength(expected.length);
    for (const [i, text] of expected.entries()) {
      if (typeof text === 'string') expect(found[i]).toBe(text);
      else expect(found[i]).toMatch(text);
    }
  });

  it('checks label values and DNS names with the texts of Kubernetes', () => {
    expect([labelValueErrors(''), labelValueErrors('a.B_1'), dnsLabelErrors('a-1'), dnsSubdomainErrors('a.b')]).toEqual(
      [[], [], [], []],
    );
    expect(labelValueErrors('a b')).toEqual([
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ]);
    expect(labelValueErrors('ä'.repeat(32))).toHaveLength(2);
    expect(dnsLabelErrors('a.b')).toEqual(['must not contain dots']);
    expect(dnsLabelErrors('A')).toEqual([
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ]);
    expect(dnsLabelErrors('a'.repeat(64))).toEqual(['must be no more than 63 characters']);
    expect(dnsSubdomainErrors('-')[0]).toMatch(/^a lowercase RFC 1123 subdomain must consist of/);
  });
});
