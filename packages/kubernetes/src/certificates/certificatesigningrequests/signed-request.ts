// Checks that a PKCS#10 request is well formed and signed by its own key. The parser is written by hand, because
// validation is synchronous and the X.509 library checks signatures only in promises. Source: crypto/x509
// ParseCertificateRequest and CheckSignature of Go.

import { createPublicKey, verify } from 'node:crypto';
import { messageOf } from '@kapstan/api/internal';
import { contentOf, type DerValue, objectId, readDerValues, sequence } from '@kapstan/apiserver/internal';
import { pemBlocks } from './pem-blocks.ts';

const bitString = 0x03;

interface Algorithm {
  /** Undefined = the key decides. */
  readonly hash: string | undefined;
  readonly failure: string;
}

const rsaFailure = 'crypto/rsa: verification error';
const ecdsaFailure = 'x509: ECDSA verification failure';

/** Algorithms by the bytes of their object identifiers. */
const algorithms: ReadonlyMap<string, Algorithm> = new Map([
  ['2a864886f70d01010b', { hash: 'sha256', failure: rsaFailure }],
  ['2a864886f70d01010c', { hash: 'sha384', failure: rsaFailure }],
  ['2a864886f70d01010d', { hash: 'sha512', failure: rsaFailure }],
  ['2a8648ce3d040302', { hash: 'sha256', failure: ecdsaFailure }],
  ['2a8648ce3d040303', { hash: 'sha384', failure: ecdsaFailure }],
  ['2a8648ce3d040304', { hash: 'sha512', failure: ecdsaFailure }],
  ['2b6570', { hash: undefined, failure: 'x509: Ed25519 verification failure' }],
]);

/** Returns the fault of a `spec.request`, which is base64 of PEM; undefined = none. */
export function requestFault(request: string): string | undefined {
  const [first] = pemBlocks(Buffer.from(request, 'base64').toString('latin1'));
  if (first?.type !== 'CERTIFICATE REQUEST') return 'PEM block type must be CERTIFICATE REQUEST';
  try {
    return signatureFault(first.der);
  } catch (error) {
    return `asn1: structure error: ${messageOf(error)}`;
  }
}

function signatureFault(der: Buffer): string | undefined {
  const [outer, ...more] = readDerValues(der);
  if (more.length > 0) return 'asn1: syntax error: trailing data';
  const [signed, algorithm, signature] = readDerValues(contentOf(outer, sequence));
  const [, , key] = readDerValues(contentOf(signed, sequence));
  const [id] = readDerValues(contentOf(algorithm, sequence));
  const known = algorithms.get(contentOf(id, objectId).toString('hex'));
  if (known === undefined) return 'x509: cannot verify signature: algorithm unimplemented';
  const publicKey = createPublicKey({ key: contentIn(key), format: 'der', type: 'spki' });
  // The first byte is the number of unused bits in the last one, which is zero.
  const bytes = contentOf(signature, bitString).subarray(1);
  return verify(known.hash, contentIn(signed), publicKey, bytes) ? undefined : known.failure;
}

function contentIn(value: DerValue | undefined): Buffer {
  contentOf(value, sequence);
  return (value as DerValue).whole;
}
