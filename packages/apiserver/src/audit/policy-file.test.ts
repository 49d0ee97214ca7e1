import { describe, expect, it } from 'vitest';
import { parseAuditPolicy } from './policy-file.ts';

const head = 'apiVersion: audit.k8s.io/v1\nkind: Policy\n';
const levels = '"None", "Metadata", "Request", "RequestResponse"';
const stages = 'allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic';
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const starts = "non-resource URL rules must begin with a '/' character";

describe('an audit policy', () => {
  it('is read with all its fields', () => {
    const text = `${head}omitStages: [RequestReceived]
omitManagedFields: true
metadata: {name: any}
rules:
- level: Request
  users: [a]
  userGroups: [b]
  verbs: [get]
  resources: [{group: apps, resources: [deployments/scale], resourceNames: [x]}]
  namespaces: ['']
  omitStages: [Panic]
  omitManagedFields: false
- level: None
  nonResourceURLs: ['/healthz*', '*']
`;
    const { policy, warning } = parseAuditPolicy(text);
    expect(warning).toBeUndefined();
    expect(policy).toMatchObject({
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
      rules: [
        {
          level: 'Request',
          users: ['a'],
          userGroups: ['b'],
          verbs: ['get'],
          resources: [{ group: 'apps', resources: ['deployments/scale'], resourceNames: ['x'] }],
          namespaces: [''],
          omitStages: ['Panic'],
          omitManagedFields: false,
        },
        { level: 'None', nonResourceURLs: ['/healthz*', '*'] },
      ],
    });
  });

  it('may be JSON, and may leave out its kind', () => {
    const { policy } = parseAuditPolicy('{"apiVersion":"audit.k8s.io/v1","rules":[{"level":"None"}]}');
    expect(policy.rules).toEqual([{ level: 'None' }]);
  });

  it.each([
    [
      'unknown fields',
      `${head}rules: [{level: None, foo: 1}]\nbar: 2\n`,
      'unknown field "bar", unknown field "rules[0].foo"',
    ],
    ['repeated ones', `${head}rules: [{level: None, level: Metadata}]\n`, 'key "level" already set in map'],
  ])('is taken without %s, which are told', (_, text, expected) => {
    const { policy, warning } = parseAuditPolicy(text);
    expect(policy.rules).toHaveLength(1);
    expect(warning).toContain(expected);
    expect(warning).toMatch(/^strict decoding error: /);
  });

  // The texts come from kube-apiserver 1.36.3.
  it.each([
    ['', 'unknown group version field audit.k8s.io/__internal, Kind=Policy in policy'],
    [
      'kind: Policy\nrules: [{level: None}]',
      'unknown group version field audit.k8s.io/__internal, Kind=Policy in policy',
    ],
    [head, 'loaded illegal policy with 0 rules'],
    [`${head}rules: []`, 'loaded illegal policy with 0 rules'],
    [
      'apiVersion: audit.k8s.io/v1beta1\nkind: Policy',
      'failed decoding: no kind "Policy" is registered for version "audit.k8s.io/v1beta1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'apiVersion: audit.k8s.io/v1\nkind: Event',
      'failed decoding: converting (v1.Event) to (audit.Policy): unknown conversion',
    ],
    [`${head}rules: [{users: [a]}]`, 'rules[0].level: Required value'],
    [`${head}rules: [{level: metadata}]`, `rules[0].level: Unsupported value: "metadata": supported values: ${levels}`],
    [
      `${head}omitStages: [Foo]\nrules: [{level: None, omitStages: [Bar]}]`,
      `[omitStages[0]: Invalid value: "Foo": ${stages}, rules[0].omitStages[0]: Invalid value: "Bar": ${stages}]`,
    ],
    [
      `${head}rules: [{level: None, nonResourceURLs: [foo, '/a*b', '', '*']}]`,
      `[rules[0].nonResourceURLs[0]: Invalid value: "foo": ${starts}, rules[0].nonResourceURLs[1]: Invalid value: "/a*b": non-resource URL wildcards '*' must be the final character of the rule, rules[0].nonResourceURLs[2]: Invalid value: "": ${starts}]`,
    ],
    [
      `${head}rules: [{level: None, nonResourceURLs: ['/x'], namespaces: [a]}]`,
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [
      `${head}rules: [{level: None, resources: [{group: rbac.authorization.k8s.io/v1beta1}, {group: ok, resourceNames: [x]}]}]`,
      `[rules[0].resources.group: Invalid value: "rbac.authorization.k8s.io/v1beta1": ${subdomain}, rules[0].resources.resourceNames: Invalid value: ["x"]: using resourceNames requires at least one resource]`,
    ],
    [
      `${head}rules: [{level: 3}]`,
      'failed decoding: json: cannot unmarshal number into Go struct field PolicyRule.rules.level of type v1.Level',
    ],
    [
      `${head}rules: {level: None}`,
      'failed decoding: json: cannot unmarshal object into Go struct field Policy.rules of type []v1.PolicyRule',
    ],
  ])('is refused: %j', (text, message) => {
    expect(() => parseAuditPolicy(text)).toThrow(new Error(message));
  });

  it.each([`${head}rules: [`, 'foo'])('is refused when it is none: %j', (text) => {
    expect(() => parseAuditPolicy(text)).toThrow(/^failed decoding: /);
  });
});
