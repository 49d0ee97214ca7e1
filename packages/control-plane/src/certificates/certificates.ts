// The server's own certificate authority, serving certificate and admin client certificate, kept in <data-dir>/pki.
// They are made on the first start and renewed before they expire. Used by control-plane.ts.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, parseTime } from '@kapstan/api';
import { type CertificateIssuer, createIssuer, isAddress, type KeyPair } from '@kapstan/controller/certificates';
import { checkKeyPair, isKeyPair } from './key-pair.ts';
import { makeDirectory } from './make-directory.ts';
import { writePrivateFile } from './private-file.ts';

export interface Pki {
  /** The authority's certificate, PEM. */
  readonly caCert: string;
  /** Path of the file that holds {@link Pki.caCert}. */
  readonly caFile: string;
  readonly serving: KeyPair;
  /** The certificate that verifies {@link Pki.serving} (PEM), and the file that holds it. */
  readonly trusted: { readonly cert: string; readonly file: string };
  /** Client certificate of `kubernetes-admin` in `system:masters`. */
  readonly admin: KeyPair;
  /** Proves to the API servers behind this one that it speaks for its users. */
  readonly frontProxy: FrontProxy;
}

export interface FrontProxy {
  /** Certificate of the authority that signs {@link FrontProxy.client}, PEM. Never the authority of clients. */
  readonly caCert: string;
  /** Client certificate of this server's proxy. */
  readonly client: KeyPair;
}

/** Common name of the generated proxy certificate, as kubeadm has it. */
export const frontProxyName = 'front-proxy-client';

/** Returns the authorities (PEM) against which client certificates are verified: our own, and the given ones. */
export function clientAuthorities({ caCert }: Pick<Pki, 'caCert'>, given: string | undefined): readonly string[] {
  return given === undefined ? [caCert] : [caCert, given];
}

export interface PkiOptions {
  readonly directory: string;
  /** Names and addresses in the serving certificate. localhost, 127.0.0.1 and ::1 are always included. */
  readonly hosts: readonly string[];
  readonly clock: Clock;
}

const dayMs = 86_400_000;
const renewBeforeMs = 30 * dayMs;
const caLifetimeMs = 3650 * dayMs;
const leafLifetimeMs = 365 * dayMs;

/**
 * Reads the certificates of a data directory. Makes those that are missing or expire within 30 days, and a serving certificate that lacks a
 * host. Private keys get mode 0600. Rejects when a file cannot be read or written, or the authority is broken.
 */
export async function ensurePki(options: PkiOptions): Promise<Pki> {
  await makeDirectory(options.directory);
  const nowMs = options.clock.now();
  // Neither authority needs the other, and the disk takes most of the time of both.
  const [own, frontProxy] = await allFinished([ensureOwn(options, nowMs), ensureFrontProxy(options.directory, nowMs)]);
  return { ...own, frontProxy };
}

async function ensureOwn({ directory, hosts: asked }: PkiOptions, nowMs: number): Promise<Omit<Pki, 'frontProxy'>> {
  const hosts = [...new Set(['localhost', '127.0.0.1', '::1', 'kubernetes.default.svc', ...asked])];
  const [presentCa, presentServing, presentAdmin] = await allFinished([
    readAuthority(directory, 'ca'),
    readLeaf(directory, 'apiserver'),
    readLeaf(directory, 'admin'),
  ]);
  const ca = isFresh(presentCa, nowMs) ? presentCa : undefined;
  const isOurs = (pair: KeyPair | undefined): pair is KeyPair =>
    ca !== undefined && isFresh(pair, nowMs) && isIssuedBy(pair, ca);
  const serving = isOurs(presentServing) && coversHosts(presentServing, hosts) ? presentServing : undefined;
  const admin = isOurs(presentAdmin) ? presentAdmin : undefined;
  const caFile = join(directory, 'ca.crt');
  if (ca && serving && admin)
    return { caCert: ca.cert, caFile, trusted: { cert: ca.cert, file: caFile }, serving, admin };

  const issuer = await createIssuer(ca, { nowMs, lifetimeMs: caLifetimeMs });
  const made = await issueLeaves(issuer, { hosts, nowMs, serving, admin });
  // A kill may leave some of them. Certificates that another authority issued are made again.
  await allFinished([
    ca === undefined ? writePair(directory, 'ca', issuer.authority) : undefined,
    writePair(directory, 'apiserver', made.serving),
    writePair(directory, 'admin', made.admin),
  ]);
  const { cert } = issuer.authority;
  return { caCert: cert, caFile, trusted: { cert, file: caFile }, ...made };
}

/** Rejects with the first error once all are over, so that nothing continues in the background. */
async function allFinished<T extends readonly unknown[]>(
  works: readonly [...T],
): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

/**
 * The proxy has its own authority, because a server that trusts it for identities must not trust certificates of users for them.
 */
async function ensureFrontProxy(directory: string, nowMs: number): Promise<FrontProxy> {
  const [present, known] = await allFinished([
    readAuthority(directory, 'front-proxy-ca'),
    readLeaf(directory, frontProxyName),
  ]);
  const ca = isFresh(present, nowMs) ? present : undefined;
  if (ca && isFresh(known, nowMs) && isIssuedBy(known, ca)) return { caCert: ca.cert, client: known };
  const issuer = await createIssuer(ca, { nowMs, lifetimeMs: caLifetimeMs, commonName: 'kapstan-front-proxy-ca' });
  const times = { nowMs, lifetimeMs: leafLifetimeMs };
  const client = await issuer.issue({ ...times, commonName: frontProxyName, usage: 'client' });
  await allFinished([
    ca === undefined ? writePair(directory, 'front-proxy-ca', issuer.authority) : undefined,
    writePair(directory, frontProxyName, client),
  ]);
  return { caCert: issuer.authority.cert, client };
}

interface LeafRequest {
  readonly hosts: readonly string[];
  readonly nowMs: number;
  readonly serving: KeyPair | undefined;
  readonly admin: KeyPair | undefined;
}

async function issueLeaves(
  issuer: CertificateIssuer,
  request: LeafRequest,
): Promise<{ serving: KeyPair; admin: KeyPair }> {
  const times = { nowMs: request.nowMs, lifetimeMs: leafLifetimeMs };
  return {
    serving:
      request.serving ??
      (await issuer.issue({ ...times, commonName: 'kube-apiserver', hosts: request.hosts, usage: 'server' })),
    admin:
      request.admin ??
      (await issuer.issue({
        ...times,
        commonName: 'kubernetes-admin',
        organization: 'system:masters',
        usage: 'client',
      })),
  };
}

function isFresh(pair: KeyPair | undefined, nowMs: number): pair is KeyPair {
  if (pair === undefined) return false;
  const certificate = new X509Certificate(pair.cert);
  return parseTime(certificate.validTo) - nowMs > renewBeforeMs && parseTime(certificate.validFrom) <= nowMs;
}

function isIssuedBy(pair: KeyPair, ca: KeyPair): boolean {
  return new X509Certificate(pair.cert).verify(new X509Certificate(ca.cert).publicKey);
}

function coversHosts(pair: KeyPair, hosts: readonly string[]): boolean {
  const certificate = new X509Certificate(pair.cert);
  return hosts.every(
    (host) => (isAddress(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined,
  );
}

/** A broken authority is never replaced, because clients trust it; an administrator has to look at it. */
async function readAuthority(directory: string, name: string): Promise<KeyPair | undefined> {
  const pair = await readPair(directory, name);
  if (pair !== undefined) {
    checkKeyPair(pair, { cert: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) });
  }
  return pair;
}

/**
 * Returns undefined also for a broken pair, such as a new key next to the old certificate after a kill between the two writes.
 */
async function readLeaf(directory: string, name: string): Promise<KeyPair | undefined> {
  const pair = await readPair(directory, name);
  return pair !== undefined && isKeyPair(pair) ? pair : undefined;
}

async function readPair(directory: string, name: string): Promise<KeyPair | undefined> {
  const [cert, key] = await Promise.all([
    readIfPresent(join(directory, `${name}.crt`)),
    readIfPresent(join(directory, `${name}.key`)),
  ]);
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function writePair(directory: string, name: string, pair: KeyPair): Promise<void> {
  // The key is written first: a certificate without its key counts as absent, and so does a key without its certificate.
  await writePrivateFile(join(directory, `${name}.key`), pair.key);
  await writePrivateFile(join(directory, `${name}.crt`), pair.cert);
}
