import { type AdmissionAttributes, type Authorizer, alwaysAllow, ObjectReader } from '@kapstan/apiserver';
import { StoreFixture, testContext } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AdmissionServer, objection, testAttributes } from '../../testing/admission-server.ts';
import { NodeRestriction } from './node-restriction.ts';

let server: AdmissionServer;
let podUid = '';
let nodeUid = '';
const nobody: Authorizer = {
  authorize: () => ({ decision: 'noOpinion', reason: '' }),
} as unknown as Authorizer;

beforeAll(async () => {
  server = new AdmissionServer(await StoreFixture.open(openLmdbEngine));
  await server.start({ disabled: ['ServiceAccount', 'DefaultTolerationSeconds', 'Priority'] });
  await server.create('namespaces', { name: 'default' });
  nodeUid = (await server.create('nodes', { name: 'n' })).metadata?.uid ?? '';
  const sources = [{ serviceAccountToken: { audience: 'vault', path: 't' } }];
  const volumes = [{ name: 'v', projected: { sources } }];
  podUid = (await server.create('pods', { name: 'mine', spec: { nodeName: 'n', volumes } })).metadata?.uid ?? '';
  await server.create('pods', { name: 'other', spec: { nodeName: 'o' } });
});
afterAll(() => server.close());

type Changes = Partial<AdmissionAttributes> & {
  readonly user?: string;
  readonly groups?: string[];
  readonly authorizer?: Authorizer;
};

/** Returns the refusal for a node, without the common beginning; undefined when the request is allowed. */
async function refusal(
  resource: string,
  { user = 'n', groups = ['system:nodes'], authorizer = nobody, ...changes }: Changes,
) {
  const plugin = new NodeRestriction(new ObjectReader(server.catalog), authorizer);
  const [plural = '', ...group] = resource.split('.');
  const context = { ...testContext(), user: { name: `system:node:${user}`, groups } };
  const about = { group: group.join('.'), version: 'v1', resource: plural };
  const answer = await objection(() =>
    plugin.admit(testAttributes({ name: 'x', resource: about, context, ...changes })),
  );
  return answer?.[1].replace(/^.* is forbidden: /, '');
}
const claimStatus = (status: object, metadata: object = {}): Changes => ({
  subresource: 'status',
  object: { metadata: { resourceVersion: '2', ...metadata }, status } as object,
  oldObject: { metadata: { resourceVersion: '1' }, spec: {}, status: { phase: 'Bound' } } as object,
});

describe('a node', () => {
  it('is a user of its group with the name of a node; nobody else is restricted', async () => {
    expect(await refusal('nodes', { name: 'other' })).toBe('node "n" is not allowed to modify node "other"');
    expect(await refusal('nodes', { name: 'other', groups: ['people'] })).toBeUndefined();
    expect(await refusal('configmaps', {})).toBeUndefined();
    expect(await refusal('configmaps', { user: '' })).toBe('could not determine node from user "system:node:"');
  });

  it('may report how far the resizing of a claim is, and change nothing else of it', async () => {
    expect(await refusal('persistentvolumeclaims', {})).toBe('may only update PVC status');
    const progress = {
      phase: 'Bound',
      capacity: { storage: '1' },
      conditions: [],
      allocatedResources: { storage: '2' },
    };
    expect(
      await refusal('persistentvolumeclaims', {
        ...claimStatus(progress),
        object: { ...claimStatus(progress).object, spec: {} } as object,
      }),
    ).toBeUndefined();
    expect(await refusal('persistentvolumeclaims', claimStatus({ phase: 'Lost' }))).toContain(
      'is not allowed to update fields other than',
    );
    const relabel = claimStatus({ phase: 'Bound' }, { labels: { a: 'b' } });
    expect(await refusal('persistentvolumeclaims', relabel)).toContain('is not allowed to update fields other than');
  });

  it('may delete, evict and report on its own pods', async () => {
    const deletes = { operation: 'DELETE', object: undefined } as const;
    expect(await refusal('pods', { ...deletes, name: 'mine' })).toBeUndefined();
    expect(await refusal('pods', { ...deletes, name: 'other' })).toBe(
      'node "n" can only delete pods with spec.nodeName set to itself',
    );
    expect(await refusal('pods', { ...deletes, name: 'none' })).toBe('pods "none" not found');
    expect(await refusal('pods', { operation: 'UPDATE' })).toBe(
      'unexpected operation "UPDATE", node "n" can only create and delete mirror pods',
    );
    const evicts = { operation: 'CREATE', subresource: 'eviction' } as const;
    expect(await refusal('pods', { ...evicts, name: 'mine' })).toBeUndefined();
    expect(await refusal('pods', { ...evicts, name: 'other' })).toBe(
      'node n can only evict pods with spec.nodeName set to itself',
    );
    expect(await refusal('pods', { subresource: 'binding', operation: 'CREATE' })).toBe(
      "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed",
    );
    const pod = (labels: object, more: object = {}): object => ({
      metadata: { labels },
      spec: { nodeName: 'n' },
      status: more,
    });
    const reports = (next: object): Changes => ({ subresource: 'status', object: next, oldObject: pod({ a: 'b' }) });
    expect(await refusal('pods', reports(pod({ a: 'b' }, { phase: 'Running' })))).toBeUndefined();
    expect(await refusal('pods', reports(pod({})))).toBe('node "n" cannot update labels through pod status');
    const resourceClaimStatuses = [{ name: 'c' }];
    expect(await refusal('pods', reports(pod({ a: 'b' }, { resourceClaimStatuses })))).toBe(
      'node "n" cannot update resource claim statues',
    );
  });

  it('may create mirror pods that it owns and that refer to nothing', async () => {
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: nodeUid, controller: true };
    const creates = (ownerReferences: object[], spec: object = {}): Changes => ({
      operation: 'CREATE',
      object: {
        metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences },
        spec: { nodeName: 'n', containers: [], ...spec },
      } as object,
    });
    expect(await refusal('pods', creates([owner]))).toBeUndefined();
    expect(await refusal('pods', creates([owner, owner]))).toContain('with a single owner reference set to itself');
    expect(await refusal('pods', creates([{ ...owner, controller: false }]))).toContain(
      'with a controller owner reference',
    );
    expect(await refusal('pods', creates([{ ...owner, blockOwnerDeletion: true }]))).toContain(
      'must not set blockOwnerDeletion',
    );
    expect(await refusal('pods', creates([{ ...owner, uid: 'u' }]))).toBe(
      `node n UID mismatch: expected u got ${nodeUid}`,
    );
    const volumes = (source: object): object => ({ volumes: [{ name: 'v', ...source }] });
    for (const [spec, what] of [
      [{ serviceAccountName: 's' }, 'serviceaccounts'],
      [volumes({ secret: { secretName: 's' } }), 'secrets'],
      [volumes({ configMap: { name: 'c' } }), 'configmaps'],
      [{ containers: [{ name: 'c', envFrom: [{ configMapRef: { name: 'c' } }] }] }, 'configmaps'],
      [{ resourceClaims: [{ name: 'r' }] }, 'resourceclaims'],
      [volumes({ csi: { driver: 'd' } }), 'csidrivers (via CSI volumes)'],
      [volumes({ persistentVolumeClaim: { claimName: 'c' } }), 'persistentvolumeclaims'],
      [
        volumes({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }),
        'serviceaccounts (via projected volumes)',
      ],
    ] as const)
      expect(await refusal('pods', creates([owner], spec))).toBe(`node "n" can not create pods that reference ${what}`);
    expect(await refusal('pods', creates([owner], volumes({ emptyDir: {} })))).toBeUndefined();
  });

  it('may ask for tokens of pods that run on it, for audiences that they name', async () => {
    const asks = (name: string, uid: string, audiences: string[] = ['vault']): Changes => ({
      operation: 'CREATE',
      subresource: 'token',
      object: { spec: { audiences, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid } } } as object,
    });
    expect(await refusal('serviceaccounts', asks('mine', podUid))).toBeUndefined();
    expect(await refusal('serviceaccounts', asks('mine', ''))).toBe(
      'node requested token with a pod binding without a uid',
    );
    expect(await refusal('serviceaccounts', asks('mine', podUid, ['a', 'b']))).toBe(
      'node may only request 0 or 1 audiences',
    );
    expect(await refusal('serviceaccounts', asks('mine', podUid, ['other']))).toBe(
      'audience "other" not found in pod spec volume, system:node:n is not authorized to request tokens for this audience',
    );
    expect(
      await refusal('serviceaccounts', { ...asks('mine', podUid, ['other']), authorizer: alwaysAllow }),
    ).toBeUndefined();
    const { uid } = (await server.store('pods').get(testContext(), 'other')).object.metadata ?? {};
    expect(await refusal('serviceaccounts', asks('other', uid ?? ''))).toBe(
      'node requested token bound to a pod scheduled on a different node',
    );
  });

  it('may write only what has its name', async () => {
    expect(await refusal('csinodes.storage.k8s.io', { name: 'other' })).toBe(
      'can only access CSINode with the same name as the requesting node',
    );
    expect(await refusal('csinodes.storage.k8s.io', { name: 'n' })).toBeUndefined();
    const slice = (nodeName: string): Changes => ({ operation: 'CREATE', object: { spec: { nodeName } } as object });
    expect(await refusal('resourceslices.resource.k8s.io', slice('n'))).toBeUndefined();
    expect(await refusal('resourceslices.resource.k8s.io', slice('o'))).toBe(
      'can only create ResourceSlice with the same NodeName as the requesting node',
    );
    const signs = (signerName: string): Changes => ({
      operation: 'CREATE',
      object: { spec: { signerName, request: 'eA==' } } as object,
    });
    const requests = 'certificatesigningrequests.certificates.k8s.io';
    expect(await refusal(requests, signs('example.com/mine'))).toBeUndefined();
    expect(await refusal(requests, signs('kubernetes.io/kubelet-serving'))).toBe(
      'unable to parse csr: PEM block type must be CERTIFICATE REQUEST',
    );
  });
});
