// Checks how a webhook is called (by URL or service) and which authorities may certify it. Admission webhooks and conversion webhooks share
// these rules. Source: apiserver util/webhook/validation.go.
import { X509Certificate } from 'node:crypto';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import { parseUrl } from '@kapstan/cel';
import type { Field } from '../registry/meta/field.ts';

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
  at.each(path.slice(1).replace(/\/$/, '').split('/'), (segment, _place, index) => {
    if (segment === '') at.invalid(path, `segment[${index}] may not be empty`);
    else for (const message of dnsSubdomainErrors(segment)) at.invalid(path, `segment[${index}]: ${message}`);
  });
}

/** Returns the fault of certificates that are to be trusted; one readable certificate is enough. Source: ValidateCABundle. */
export function caBundleFault(pem: string): string | undefined {
  if (pem === '') return undefined;
  let fault = 'unable to parse bytes as PEM block';
  for (const [block, label] of pem.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g)) {
    if (label !== 'CERTIFICATE') fault = 'no valid certificate authority data seen';
    else if (isCertificate(block)) return undefined;
    else fault = 'failed to parse certificate: x509: malformed certificate';
  }
  return `unable to load root certificates: ${fault}`;
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).subject !== undefined;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}
