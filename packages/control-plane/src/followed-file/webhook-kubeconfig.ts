// Reads the kubeconfig of a webhook that a flag names: its address, the trusted authorities, and the server's own credentials. Used for
// webhooks of authentication and authorization; the audit webhook has a whole client. Source: apiserver util/webhook LoadKubeconfig.
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Clock } from '@kapstan/api';
import type { WebhookIdentity, WebhookTarget } from '@kapstan/apiserver';
import type { ClientConfig } from '@kapstan/client';

/** A token in a file is read again after this time. Source: client-go transport/token_source.go. */
const tokenMs = 50_000;
/** A certificate in a file is read again after this time. Source: client-go transport/cert_rotation.go. */
const certificateMs = 300_000;

/** `what` names the webhook in errors: "a token webhook". */
export interface WebhookKubeconfigOptions {
  readonly what: string;
  readonly clock: Clock;
}

/** Rejects when the file cannot be used, and with TypeError when it requires a feature that is not built. */
export async function webhookOfKubeconfig(
  path: string,
  { what, clock }: WebhookKubeconfigOptions,
): Promise<WebhookTarget> {
  // Only servers with such a webhook need the client's code.
  const { clientConfigOf, loadKubeconfig } = await import('@kapstan/client');
  const config = clientConfigOf(await loadKubeconfig({ path }));
  const url = new URL(config.server.includes('://') ? config.server : `https://${config.server}`);
  refuseUnsupported(config, url, what);
  const { tls = {} } = config;
  // A slash at the end makes no difference.
  url.pathname = url.pathname.replace(/\/+$/, '');
  const certificate = certificateOf(tls, clock);
  // Faults are reported now, not when the webhook is called.
  await certificate?.();
  return {
    url: url.href,
    caBundle: await textOf(tls.ca, tls.caFile),
    identity: {
      certificate,
      authorization: authorizationOf(config, clock),
      serverName: tls.serverName,
      trustsAnyone: tls.insecureSkipVerify,
    },
  };
}

function refuseUnsupported({ exec, oidc, impersonate, proxyUrl }: ClientConfig, url: URL, what: string): void {
  const unsupported = [
    [url.protocol !== 'https:', 'a server without https'],
    [exec !== undefined, 'an exec plug-in'],
    [oidc !== undefined, 'an auth-provider'],
    [impersonate !== undefined, 'impersonation'],
    [proxyUrl !== undefined, 'a proxy-url'],
  ].find(([isUsed]) => isUsed);
  if (unsupported !== undefined) throw new TypeError(`${unsupported[1]} in the kubeconfig of ${what} is not supported`);
}

async function textOf(text: string | undefined, file: string | undefined): Promise<string | undefined> {
  if (text !== undefined || file === undefined) return text;
  return await readFile(file, 'utf8');
}

function certificateOf(
  { cert, certFile, key, keyFile }: NonNullable<ClientConfig['tls']>,
  clock: Clock,
): WebhookIdentity['certificate'] {
  if ((cert ?? certFile) === undefined) return undefined;
  const read = async (): Promise<{ cert: string; key: string }> => {
    const pair = { cert: (await textOf(cert, certFile)) ?? '', key: (await textOf(key, keyFile)) ?? '' };
    // Throws for files of which only one has been replaced yet.
    createSecureContext(pair);
    return pair;
  };
  return rereading(read, certificateMs, clock);
}

function authorizationOf(
  { token, tokenFile, username, password = '' }: ClientConfig,
  clock: Clock,
): WebhookIdentity['authorization'] {
  if (tokenFile !== undefined) return rereading(() => bearer(tokenFile), tokenMs, clock);
  if (token !== undefined) return () => `Bearer ${token}`;
  if (username === undefined) return undefined;
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  return () => basic;
}

async function bearer(path: string): Promise<string> {
  const token = (await readFile(path, 'utf8')).trim();
  if (token === '') throw new Error(`read empty token from file ${JSON.stringify(path)}`);
  return `Bearer ${token}`;
}

/**
 * Returns the last content, and reads it again when it is older than `freshMs`. While the file cannot be read, the last content counts.
 */
function rereading<T>(read: () => Promise<T>, freshMs: number, clock: Clock): () => Promise<T> {
  let known: { readonly value: T; readonly atMs: number } | undefined;
  let reading: Promise<T> | undefined;
  const readAgain = async (): Promise<T> => {
    const atMs = clock.monotonicNow();
    try {
      known = { value: await read(), atMs };
    } catch (error) {
      if (known === undefined) throw error;
    } finally {
      reading = undefined;
    }
    return known.value;
  };
  return async () => {
    if (known !== undefined && clock.monotonicNow() - known.atMs < freshMs) return known.value;
    reading ??= readAgain();
    return reading;
  };
}
