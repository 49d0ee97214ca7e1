import type { UnstructuredObject } from '@kapstan/api';
import type { AdmissionAttributes, AdmissionOperation } from '@kapstan/apiserver';
import { type AuthorizationAttributes, type Authorizer, alwaysAllow } from '@kapstan/apiserver';
import { testContext } from '@kapstan/apiserver/testing';
import { describe, expect, it } from 'vitest';
import { objection, testAttributes } from '../testing/admission-server.ts';
import { certificateSigners } from './certificate-signers.ts';

const group = 'certificates.k8s.io';
const requests = { group, version: 'v1', resource: 'certificatesigningrequests' };
const bundles = { group, version: 'v1beta1', resource: 'clustertrustbundles' };
const user = { name: 'alice', groups: ['system:authenticated'] };
const spec = { signerName: 'example.com/some' };
const approved = { conditions: [{ type: 'Approved' }] };
const request = (status?: object): UnstructuredObject => ({ spec, ...(status === undefined ? {} : { status }) });
const refusalOf = (act: string): readonly [number, string] => [
  403,
  `certificatesigningrequests.certificates.k8s.io "x" is forbidden: user not permitted to ${act} requests with signerName "example.com/some"`,
];

/** Allows the rights listed as "verb name", and records the questions. */
function allowing(...rights: readonly string[]): Authorizer & { readonly asked: AuthorizationAttributes[] } {
  const asked: AuthorizationAttributes[] = [];
  return {
    asked,
    authorize: (attributes) => {
      asked.push(attributes);
      const right = attributes.type === 'resource' ? `${attributes.verb} ${attributes.name}` : '';
      return { decision: rights.includes(right) ? 'allow' : 'noOpinion', reason: '' };
    },
  };
}

function objectionOf(authorizer: Authorizer, changes: Partial<AdmissionAttributes>): ReturnType<typeof objection> {
  const context = testContext({ user, namespace: '' });
  const attributes = testAttributes({ resource: requests, namespace: '', context, ...changes });
  return objection(async () => {
    for (const plugin of certificateSigners(authorizer)) await plugin.validate?.(attributes);
  });
}

const approval: Partial<AdmissionAttributes> = {
  subresource: 'approval',
  oldObject: request(),
  object: request(approved),
};
const signing: Partial<AdmissionAttributes> = {
  subresource: 'status',
  oldObject: request(),
  object: request({ certificate: 'YQ==' }),
};

describe('who approves and signs requests for certificates', () => {
  it.each<[string, Partial<AdmissionAttributes>, string[]]>([
    ['approve', approval, ['approve example.com/some']],
    ['approve', approval, ['approve example.com/*']],
    ['sign', signing, ['sign example.com/some']],
    ['sign', signing, ['sign example.com/*']],
  ])('must be allowed to %s for the signer or for its domain', async (_act, changes, rights) => {
    expect(await objectionOf(allowing(...rights), changes)).toBeUndefined();
  });

  it.each<[Partial<AdmissionAttributes>, string, string[]]>([
    [approval, 'approve', []],
    [approval, 'approve', ['sign example.com/some', 'approve example.com/other', 'approve *', 'approve example.org/*']],
    [signing, 'sign', []],
    [signing, 'sign', ['approve example.com/some', 'sign example.com', 'sign *', 'sign com/*']],
  ])('%#: is refused without that right', async (changes, act, rights) => {
    expect(await objectionOf(allowing(...rights), changes)).toEqual(refusalOf(act));
  });

  it('is asked about signers, in the group of certificates, in all versions', async () => {
    const authorizer = allowing();
    await objectionOf(authorizer, approval);
    const question = {
      type: 'resource',
      user,
      group,
      version: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
    };
    expect(authorizer.asked).toEqual([
      { ...question, verb: 'approve', name: 'example.com/some' },
      { ...question, verb: 'approve', name: 'example.com/*' },
    ]);
  });

  it('cannot change the signer on the way', async () => {
    const object: UnstructuredObject = { spec: { signerName: 'example.org/mine' }, status: approved };
    expect(await objectionOf(allowing('approve example.org/mine'), { ...approval, object })).toEqual(
      refusalOf('approve'),
    );
  });

  it.each<[string, Partial<AdmissionAttributes>]>([
    ['a request is made', { operation: 'CREATE', object: request() }],
    ['a request is changed', { oldObject: request(), object: request(approved) }],
    ['a request is deleted', { operation: 'DELETE', oldObject: request(), object: undefined }],
    ['a status stays as it is', { ...signing, object: { ...request(), metadata: { labels: { a: 'b' } } } }],
    ['no condition becomes none', { ...signing, object: request({ conditions: [] }) }],
    ['something else is approved', { ...approval, resource: { ...requests, group: 'example.com' } }],
  ])('needs nothing where %s', async (_case, changes) => {
    const authorizer = allowing();
    expect(await objectionOf(authorizer, changes)).toBeUndefined();
    expect(authorizer.asked).toEqual([]);
  });

  it('must be allowed to sign to write a condition', async () => {
    const object = request({ conditions: [{ type: 'Failed' }] });
    expect(await objectionOf(allowing(), { ...signing, object })).toEqual(refusalOf('sign'));
    expect(await objectionOf(alwaysAllow, { ...signing, object })).toBeUndefined();
  });
});

describe('who vouches for the bundle of a signer', () => {
  const old = { metadata: { name: 'x', labels: { a: 'b' } }, spec: { ...spec, trustBundle: 'pem' } };
  const about = (operation: AdmissionOperation, object: UnstructuredObject): Partial<AdmissionAttributes> => ({
    resource: bundles,
    operation,
    object,
    oldObject: operation === 'UPDATE' ? old : undefined,
  });

  it.each<[Partial<AdmissionAttributes>, boolean]>([
    [about('CREATE', old), true],
    [about('UPDATE', { ...old, spec: { ...spec, trustBundle: 'other' } }), true],
    [about('UPDATE', { ...old, metadata: { name: 'x' } }), true],
    [about('UPDATE', { ...old, metadata: { ...old.metadata, finalizers: ['a/b'], ownerReferences: [] } }), false],
    [about('CREATE', { spec: { trustBundle: 'pem' } }), false],
  ])('%#: must be allowed to attest for it, unless owners and finalizers alone change', async (changes, isRefused) => {
    const text =
      'clustertrustbundles.certificates.k8s.io "x" is forbidden: user not permitted to attest for signerName "example.com/some"';
    expect(await objectionOf(allowing(), changes)).toEqual(isRefused ? [403, text] : undefined);
    expect(await objectionOf(allowing('attest example.com/*'), changes)).toBeUndefined();
  });
});
