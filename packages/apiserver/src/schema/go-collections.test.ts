// Tests lists and maps with Go names and the errors of Go's decoder, as recorded from a kube-apiserver 1.36.

import { isStatusError } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { factTypes } from '../testing/fact-types.ts';
import { decodeObject } from '../testing/whole-work.ts';
import { StrictErrors } from './field-validation.ts';
import type { SchemaNode } from './node/schema-node.ts';
import { decodeTyped } from './typed-decoder.ts';

function decoded(apiVersion: string, kind: string, content: object): unknown {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const body = new TextEncoder().encode(JSON.stringify({ apiVersion, kind, ...content }));
  const gvk = { group, version, kind };
  const schema = factTypes.schemaOfKind(apiVersion, kind) as SchemaNode;
  return decodeObject(body, {
    schema,
    mediaType: 'application/json',
    gvk,
    fieldValidation: 'Ignore',
    warn: () => undefined,
  });
}

function refusal(apiVersion: string, kind: string, content: object): string {
  try {
    return `taken: ${JSON.stringify(decoded(apiVersion, kind, content))}`;
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return error.message.replace(/^.*cannot be handled as a \w+: json: cannot unmarshal /, '');
  }
}

describe('a value of the wrong type', () => {
  it.each<readonly [apiVersion: string, kind: string, content: object, text: string]>([
    [
      'v1',
      'ResourceQuota',
      { spec: { hard: [] } },
      'array into Go struct field ResourceQuotaSpec.spec.hard of type v1.ResourceList',
    ],
    [
      'certificates.k8s.io/v1',
      'CertificateSigningRequest',
      { spec: { extra: 1 } },
      'number into Go struct field CertificateSigningRequestSpec.spec.extra of type map[string]v1.ExtraValue',
    ],
    [
      'certificates.k8s.io/v1',
      'CertificateSigningRequest',
      { spec: { extra: { a: 1 } } },
      'number into Go struct field CertificateSigningRequestSpec.spec.extra of type v1.ExtraValue',
    ],
    [
      'certificates.k8s.io/v1',
      'CertificateSigningRequest',
      { spec: { extra: { a: [1] } } },
      'number into Go struct field CertificateSigningRequestSpec.spec.extra of type string',
    ],
    [
      'v1',
      'PersistentVolumeClaim',
      { status: { allocatedResourceStatuses: 1 } },
      'number into Go struct field PersistentVolumeClaimStatus.status.allocatedResourceStatuses of type map[v1.ResourceName]v1.ClaimResourceStatus',
    ],
    [
      'v1',
      'PersistentVolumeClaim',
      { status: { allocatedResourceStatuses: { a: 1 } } },
      'number into Go struct field PersistentVolumeClaimStatus.status.allocatedResourceStatuses of type v1.ClaimResourceStatus',
    ],
    [
      'resource.k8s.io/v1',
      'ResourceSlice',
      { spec: { devices: [{ capacity: 1 }] } },
      'number into Go struct field Device.spec.devices.capacity of type map[v1.QualifiedName]v1.DeviceCapacity',
    ],
    [
      'v1',
      'Pod',
      { metadata: { labels: 1 } },
      'number into Go struct field ObjectMeta.metadata.labels of type map[string]string',
    ],
    ['v1', 'Secret', { data: { a: ['x'] } }, 'string into Go struct field Secret.data of type uint8'],
    ['v1', 'Secret', { data: { a: [256] } }, 'number 256 into Go struct field Secret.data of type uint8'],
    ['v1', 'Secret', { data: { a: {} } }, 'object into Go struct field Secret.data of type []uint8'],
  ])('%s %s %j is told with the name of its list or map', (apiVersion, kind, content, text) => {
    expect(refusal(apiVersion, kind, content)).toBe(text);
  });

  it('is none where bytes come one by one', () => {
    expect(decoded('v1', 'Secret', { data: { a: [65, null, 66], b: [] } })).toMatchObject({
      data: { a: 'QQBC', b: '' },
    });
  });

  it('of a byte in a patch is told without its place, and a number has its lowest bits', () => {
    const schema = factTypes.schemaOfKind('v1', 'Secret');
    const patched = (data: unknown): unknown =>
      decodeTyped({ data }, { schema: schema!, strict: new StrictErrors(), words: 'unstructured' });
    expect(patched({ a: [65, 322, null] })).toEqual({ data: { a: 'QUIA' } });
    expect(() => patched({ a: ['x'] })).toThrow('unrecognized type: uint8');
  });
});
