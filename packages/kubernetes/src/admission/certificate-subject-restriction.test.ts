import type { AdmissionAttributes } from '@kapstan/apiserver';
import { describe, expect, it } from 'vitest';
import { objection, testAttributes } from '../testing/admission-server.ts';
import { certificateSubjectRestriction } from './certificate-subject-restriction.ts';

const resource = { group: 'certificates.k8s.io', version: 'v1', resource: 'certificatesigningrequests' };
const signerName = 'kubernetes.io/kube-apiserver-client';

/** Encodes a value of less than 128 bytes in DER. */
const der = (tag: number, ...parts: (Buffer | string)[]): Buffer => {
  const content = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  return Buffer.concat([Buffer.from([tag, content.length]), content]);
};
const organization = Buffer.from('55040a', 'hex');
const commonName = Buffer.from('550403', 'hex');
/** Encodes a name of a subject, each in a separate set. */
const name = (id: Buffer, text: Buffer | string, tag = 0x0c): Buffer =>
  der(0x31, der(0x30, der(6, id), der(tag, text)));
const pem = (bytes: Buffer, type = 'CERTIFICATE REQUEST'): string =>
  Buffer.from(`-----BEGIN ${type}-----\n${bytes.toString('base64')}\n-----END ${type}-----\n`).toString('base64');
/** Encodes the part of a request that is read: version and subject. */
const request = (...names: Buffer[]): string =>
  pem(der(0x30, der(0x30, der(2, Buffer.from([0])), der(0x30, ...names))));
const twoBytes = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();
const both = der(
  0x31,
  der(0x30, der(6, commonName), der(12, 'x')),
  der(0x30, der(6, organization), der(12, 'system:masters')),
);

function objectionTo(csr: string, changes: Partial<AdmissionAttributes> = {}, signer = signerName) {
  const object = { spec: { request: csr, signerName: signer } } as object;
  const attributes = testAttributes({ resource, operation: 'CREATE', object, ...changes });
  return objection(() => certificateSubjectRestriction.validate?.(attributes));
}

/** This certificate was made by openssl: O=a, O=system:masters, CN=x. */
const real =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIdE1JR1RBZ0VBTURFeENqQUlCZ05WQkFvTUFXRXhGekFWQmdOVkJBb01Ebk41YzNSbGJUcHRZWE4wWlhKegpNUW93Q0FZRFZRUUREQUY0TUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFd2xjdkVyYUxHU3JnCjEweEFvSHRLY3FydXlVaUtLVmNuejZSbXFUUWZxelIxcEZTaGdHSDdxdW1WbzhCeXpwT01xU0RWTkEycVRMcSsKbkg0ZFRhYkgwS0FBTUFvR0NDcUdTTTQ5QkFNQ0Ewa0FNRVlDSVFEb2R6bDJ1UytZUEN6TWRMUE9wV1VHV2t5OApvWDNMcjdtUEFEcWwwR0RQL0FJaEFLU2RHeXIvWmQvZVFZZGZ0bk56OTVPUE95VUpDT1JKd1lNZmJBcXJlVEpGCi0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=';

describe('a request for a client certificate', () => {
  const refusal = [
    403,
    'certificatesigningrequests.certificates.k8s.io "x" is forbidden: use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed',
  ];

  it.each<[string, string, unknown]>([
    ['as openssl makes it', real, refusal],
    ['as UTF-8', request(name(commonName, 'x'), name(organization, 'system:masters')), refusal],
    ['as a printable text', request(name(organization, 'system:masters', 0x13)), refusal],
    ['as ASCII', request(name(organization, 'system:masters', 0x16)), refusal],
    ['as a text of the telegraph', request(name(organization, 'system:masters', 0x14)), refusal],
    ['in two bytes a letter', request(name(organization, twoBytes('system:masters'), 0x1e)), refusal],
    ['in two bytes a letter, with an end', request(name(organization, twoBytes('system:masters\0'), 0x1e)), refusal],
    ['in a set with another name', request(both), refusal],
    ['as a common name', request(name(commonName, 'system:masters'), name(organization, 'a')), undefined],
    ['as a part of the name', request(name(organization, 'system:masters2')), undefined],
    ['as bytes', request(name(organization, 'system:masters', 0x04)), undefined],
    ['in no name', request(), undefined],
  ])('that has the group system:masters %s', async (_case, csr, expected) => {
    expect(await objectionTo(csr)).toEqual(expected);
  });

  it.each<[string, (block: string) => string]>([
    ['that does not begin a line', (block) => `x ${block}`],
    ['with a letter of base64 too many', (block) => block.replace('\n-----END', 'A\n-----END')],
    ['with more than blanks after its end', (block) => `${block.trimEnd()}junk\n`],
  ])('is not hidden by a block %s, which who signs passes over', async (_case, spoil) => {
    const text = (csr: string): string => Buffer.from(csr, 'base64').toString('latin1');
    const hidden = Buffer.from(spoil(text(request(name(commonName, 'x')))) + text(real)).toString('base64');
    expect(await objectionTo(hidden)).toEqual(refusal);
  });

  it.each<[string, Partial<AdmissionAttributes>, string?]>([
    ['of another signer', {}, 'kubernetes.io/kube-apiserver-client-kubelet'],
    ['that is changed', { operation: 'UPDATE' }],
    ['that is approved', { subresource: 'approval' }],
    ['of another kind', { resource: { ...resource, group: 'example.com' } }],
  ])('may have it %s', async (_case, changes, signer) => {
    expect(await objectionTo(real, changes, signer)).toBeUndefined();
  });

  it.each([
    [pem(Buffer.from([0x30, 5, 1])), 'data truncated'],
    [pem(der(0x30, der(0x31))), "tags don't match"],
    [pem(Buffer.alloc(0)), 'sequence truncated'],
    [pem(Buffer.alloc(0), 'CERTIFICATE'), 'PEM block type must be CERTIFICATE REQUEST'],
  ])('%#: is refused when nothing can be read in it', async (csr, why) => {
    const text = `certificatesigningrequests.certificates.k8s.io "x" is forbidden: failed to parse CSR: ${why}`;
    expect(await objectionTo(csr)).toEqual([403, text]);
  });
});
