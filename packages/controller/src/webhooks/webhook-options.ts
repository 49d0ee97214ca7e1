// WebhookOptions: settings for serving the webhooks of a manager's controllers over HTTPS. They are checked
// here and read by webhook-runner.ts.
import { inspect } from 'node:util';
import {
  checkedElsewhere,
  type OptionTable,
  optional,
  requireBoolean,
  requireNotNegative,
  requireObject,
  requireOptions,
  requireString,
} from '@kapstan/api/internal';
import { type CertificateTimes, defaultTimes } from './certificate-plan.ts';
import type { SecretName } from './certificate-store.ts';
import type { CertificateFiles } from './file-certificates.ts';

/** The Service before this program. */
export interface WebhookService {
  readonly name: string;
  readonly namespace: string;
  /** Port of the Service. Default 443. */
  readonly port?: number;
}

/** The place where certificates made by the manager are kept, and their lifetimes. */
export interface OwnCertificateOptions {
  /**
   * The Secret in which all replicas share the authority and the certificate. Default: "<service>-webhook-certificates"
   * in the namespace of the Service; with a `url` the memory of this process.
   */
  readonly secret?: SecretName;
  /** Lifetimes and renewal times of certificates, in milliseconds. */
  readonly times?: Partial<CertificateTimes>;
}

/** Settings of the webhooks: the address for API servers, the address to listen on, and the certificates. */
export interface WebhookOptions {
  /** Port to listen at. 0 = any free port. Default 9443. */
  readonly port?: number;
  /** Address to listen at. Default: all. */
  readonly host?: string;
  /** The Service through which API servers reach this program. Either this or `url` is given. */
  readonly service?: WebhookService;
  /**
   * URL at which API servers outside the cluster reach this program, for development: "https://192.168.1.5:9443". Without a port, the port
   * on which it listens.
   */
  readonly url?: string;
  /** Self-made certificates, or files. Default: self-made ones. */
  readonly certificates?: OwnCertificateOptions | CertificateFiles;
  /**
   * Name of the two configurations, and field manager of written objects. Default: "<name>-webhooks", after the Lease of the leader
   * election or the first controller.
   */
  readonly name?: string;
  /** False = another program writes the configurations and the conversion of the definitions. Default true. */
  readonly configurations?: boolean;
  /**
   * Time for which calls are answered after the stop, so that API servers learn that this process leaves, in
   * milliseconds. Default 5000.
   */
  readonly leaveMs?: number;
  /** Maximum number of concurrent calls; more get 429 and are tried again. Default 2000. */
  readonly maxInFlight?: number;
}

const timesTable: OptionTable<CertificateTimes> = {
  authorityMs: optional(requireNotNegative),
  authorityRenewBeforeMs: optional(requireNotNegative),
  servingMs: optional(requireNotNegative),
  servingRenewBeforeMs: optional(requireNotNegative),
  overlapMs: optional(requireNotNegative),
};
const secretTable: OptionTable<SecretName> = { name: requireString, namespace: requireString };
const ownTable: OptionTable<OwnCertificateOptions> = {
  secret: optional((value, name) => {
    requireObject(value, name);
    requireOptions(value as SecretName, secretTable, 'certificates.secret');
  }),
  times: optional((value, name) => {
    requireObject(value, name);
    requireOptions(value as CertificateTimes, timesTable, 'certificates.times');
  }),
};
const filesTable: OptionTable<CertificateFiles> = {
  certFile: requireString,
  keyFile: requireString,
  caFile: optional(requireString),
};
const serviceTable: OptionTable<WebhookService> = {
  name: requireString,
  namespace: requireString,
  port: optional(requirePort),
};
const table: OptionTable<WebhookOptions> = {
  port: optional(requirePort),
  host: optional(requireString),
  service: checkedElsewhere,
  url: checkedElsewhere,
  certificates: optional(requireCertificates),
  name: optional(requireString),
  configurations: optional(requireBoolean),
  leaveMs: optional(requireNotNegative),
  maxInFlight: optional(requireNotNegative),
};

/** Throws TypeError for wrong options; false and undefined pass. */
export function requireWebhooks(webhooks: unknown): void {
  if (webhooks === false || webhooks === undefined) return;
  requireObject(webhooks, 'webhooks: false, or options such as { service: { name, namespace } },');
  const options = webhooks as WebhookOptions;
  requireOptions(options, table, 'webhooks');
  const { service, url } = options;
  if ((service === undefined) === (url === undefined))
    throw new TypeError('webhooks takes either service, the Service before this program, or url');
  if (service !== undefined) {
    requireObject(service, 'webhooks.service');
    requireOptions(service, serviceTable, 'webhooks.service');
  }
  if (url !== undefined) requireUrl(url);
  requireTimes(options.certificates);
}

/** True if certificates come from files. */
export function isFromFiles(certificates: WebhookOptions['certificates'] = {}): certificates is CertificateFiles {
  return 'certFile' in certificates || 'keyFile' in certificates;
}

function requireCertificates(certificates: unknown, name: string): void {
  requireObject(certificates, name);
  const given = certificates as NonNullable<WebhookOptions['certificates']>;
  if (isFromFiles(given)) requireOptions(given, filesTable, 'webhooks.certificates');
  else requireOptions(given, ownTable, 'webhooks.certificates');
}

/** Checks the times, because a certificate that is due for renewal from its start would be renewed all the time. */
function requireTimes(certificates: WebhookOptions['certificates']): void {
  if (certificates === undefined || isFromFiles(certificates)) return;
  const { authorityMs, authorityRenewBeforeMs, servingMs, servingRenewBeforeMs, overlapMs } = {
    ...defaultTimes,
    ...certificates.times,
  };
  if (authorityRenewBeforeMs + overlapMs < authorityMs && servingRenewBeforeMs < servingMs) {
    if (overlapMs < authorityRenewBeforeMs) return;
    throw new TypeError('certificates.times: overlapMs must be less than authorityRenewBeforeMs');
  }
  throw new TypeError(
    'certificates.times: a certificate must be valid for longer than the time before its end at which it is renewed',
  );
}

function requirePort(port: unknown, name: string): void {
  if (!(Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65_535))
    throw new TypeError(`${name} must be a whole number from 0 to 65535, not ${inspect(port)}`);
}

function requireUrl(url: unknown): void {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined;
  const isPlain =
    parsed?.protocol === 'https:' && parsed.pathname === '/' && parsed.search === '' && parsed.username === '';
  if (!isPlain) throw new TypeError(`webhooks.url is such as "https://192.168.1.5:9443", not ${inspect(url)}`);
}
