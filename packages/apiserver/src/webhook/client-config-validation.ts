// Checks how a webhook is called (by URL or service) and which authorities may certify it. Admission webhooks and conversion webhooks share
// these rules. Source: apiserver util/webhook/validation.go.
import { X509Certificate } from 'node:crypto';
import { parseUrl } from '@kapstan/cel';
import type { Field } from '../registry/meta/field.ts';
import { validateSubdomainSegments } from '../registry/meta/subdomain-segments.ts';

/** A clientConfig as admission webhooks and conversion webhooks have it. */
export interface ClientConfig {
  readonly url?: string | undefined;
  readonly service?: ServiceReference | undefined;
}

interface ServiceReference {
  readonly name: string;
  readonly namespace: string;
  readonly path?: string;
  readonly port?: number;
}

export function validateClientConfig(at: Field, { url, service }: ClientConfig): void {
  if ((url === undefined) === (service === undefined)) return at.required('exactly one of url or service is required');
  if (url !== undefined) validateUrl(at.child('url'), url);
  else if (service !== undefined) validateService(at.child('service'), service);
}

const form = 'desired format: https://host[/path]';

function validateUrl(at: Field, text: string): void {
  const url = parseUrl(text);
  if (typeof url === 'string') return at.required(`url must be a valid URL: ${url}; ${form}`);
  if (url.scheme !== 'https') at.invalid(url.scheme, `'https' is the only allowed URL scheme; ${form}`);
  if (url.host === '') at.invalid(url.host, `host must be specified; ${form}`);
  if (url.user !== undefined) at.invalid(url.user, 'user information is not permitted in the URL');
  if (url.fragment !== '') at.invalid(url.fragment, 'fragments are not permitted in the URL');
  if (url.rawQuery !== '') at.invalid(url.rawQuery, 'query parameters are not permitted in the URL');
}

/** Kubernetes reports the missing field under the other field's name; we keep its mistake. */
function validateService(at: Field, { name, namespace, path = '', port = 0 }: ServiceReference): void {
  at.child('name').present(namespace);
  at.child('namespace').present(name);
  const isPort = port >= 1 && port <= 65_535;
  if (!isPort) at.child('port').invalid(port, 'port is not valid: must be between 1 and 65535, inclusive');
  validatePath(at.child('path'), path);
}

function validatePath(at: Field, path: string): void {
  if (path === '' || path === '/') return;
  if (path === '//') return at.invalid(path, 'segment[0] may not be empty');
  if (!path.startsWith('/')) at.invalid(path, "must start with a '/'");
  const segments = path.slice(1, path.endsWith('/') ? Math.max(1, path.length - 1) : path.length);
  validateSubdomainSegments(at, segments, (segment, message, index) => {
    at.invalid(path, segment === '' ? `segment[${index}] may not be empty` : `segment[${index}]: ${message}`);
  });
}

/**
 * Returns the fault of certificates that are to be trusted; one readable certificate is enough. Only the first 500 blocks
 * count, because reading thousands would take a long turn. Source: ValidateCABundle.
 */
export function caBundleFault(pem: string): string | undefined {
  if (pem === '') return undefined;
  let fault = 'unable to parse bytes as PEM block';
  for (const { label, block } of pemBlocks(pem)) {
    if (label !== 'CERTIFICATE') fault = 'no valid certificate authority data seen';
    else if (isCertificate(block)) return undefined;
    else fault = 'failed to parse certificate: x509: malformed certificate';
  }
  return `unable to load root certificates: ${fault}`;
}

const mostBlocks = 500;

/** A text may have a hundred thousand beginnings, so none without an end searches the rest of the text. */
function* pemBlocks(pem: string): Generator<{ readonly label: string; readonly block: string }> {
  const lastEnds = lastEndsOf(pem);
  const begin = /-----BEGIN ([A-Z0-9 ]+)-----/g;
  for (let count = 0; count < mostBlocks; count++) {
    const found = begin.exec(pem);
    if (found === null) return;
    const { 1: label = '', index } = found;
    if ((lastEnds.get(label) ?? -1) < begin.lastIndex) {
      begin.lastIndex = index + 1;
      continue;
    }
    const end = `-----END ${label}-----`;
    begin.lastIndex = pem.indexOf(end, begin.lastIndex) + end.length;
    yield { label, block: pem.slice(index, begin.lastIndex) };
  }
}

function lastEndsOf(pem: string): ReadonlyMap<string, number> {
  const lastEnds = new Map<string, number>();
  let count = 0;
  for (const { 1: label = '', index } of pem.matchAll(/-----END ([A-Z0-9 ]+)(?=-----)/g)) {
    lastEnds.set(label, index);
    if (++count === mostBlocks) break;
  }
  return lastEnds;
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).subject !== undefined;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}
