// One valid object of each built-in kind that can be updated: the recorded requests of defaults.json, and a few more.
import { readFileSync } from 'node:fs';
import { signedRequest } from '@kapstan/apiserver/testing';
import type { SchemaResource } from './schema-fields.ts';

export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const recordedFile = new URL('../../../../packages/kubernetes/fixtures/defaults.json', import.meta.url);
const recorded = JSON.parse(readFileSync(recordedFile, 'utf8')) as {
  readonly cases: Readonly<Record<string, { readonly request: StoredObject }>>;
};

const metadata = { name: 'growth' };
const admission = { apiVersion: 'admissionregistration.k8s.io/v1', metadata };
const resource = { apiVersion: 'resource.k8s.io/v1', metadata };
const storage = { apiVersion: 'storage.k8s.io/v1', metadata };
const matched = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodes'] };

const others: readonly StoredObject[] = [
  Object.assign(
    { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata },
    { spec: { request: signedRequest, signerName: 'example.com/signer', usages: ['client auth'] } },
  ),
  Object.assign({ ...storage, kind: 'CSIStorageCapacity' }, { storageClassName: 'a' }),
  Object.assign({ ...storage, kind: 'VolumeAttributesClass' }, { driverName: 'a.b', parameters: { a: 'b' } }),
  Object.assign(
    { ...admission, kind: 'MutatingAdmissionPolicy' },
    {
      spec: {
        matchConstraints: { resourceRules: [matched] },
        reinvocationPolicy: 'Never',
        mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/a"}]' } }],
      },
    },
  ),
  Object.assign({ ...admission, kind: 'MutatingAdmissionPolicyBinding' }, { spec: { policyName: 'none' } }),
  Object.assign(
    { ...resource, kind: 'ResourceClaimTemplate' },
    { spec: { spec: { devices: { requests: [{ name: 'a', exactly: { deviceClassName: 'a.b' } }] } } } },
  ),
  Object.assign(
    { ...resource, kind: 'ResourceSlice' },
    { spec: { driver: 'a.b', allNodes: true, pool: { name: 'a', resourceSliceCount: 1, generation: 1 }, devices: [] } },
  ),
];

/** Returns an object that can be created. Throws for a kind that has none here. */
export function storedObject({ head }: SchemaResource): StoredObject {
  const requests = [...Object.values(recorded.cases).map(({ request }) => request), ...others];
  const found = requests.find(({ apiVersion, kind }) => apiVersion === head.apiVersion && kind === head.kind);
  if (found === undefined) throw new Error(`no object of ${head.apiVersion} ${head.kind} can be stored`);
  return found;
}
