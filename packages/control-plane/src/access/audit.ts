// Opens the audit policy, log and webhook of a control plane from its options. Called by control-plane.ts; serving.ts
// gets what it opens.
import type { Writable } from 'node:stream';
import type { Clock, Logger } from '@kapstan/api';
import {
  AuditBackends,
  type AuditDelivery,
  AuditLogFile,
  type AuditLogFormat,
  type AuditLogTarget,
  type AuditOptions,
  type AuditWebhookTarget,
  parseAuditPolicy,
} from '@kapstan/apiserver';
import { startingWith } from '../lifetime/start-error.ts';
import { tolerateErrors } from '../output/standard-streams.ts';

export interface AuditSettings extends AuditDelivery {
  /** Text of a Policy of audit.k8s.io/v1, which decides how much of each request is recorded. */
  readonly policy: string;
  /** Path of the log file, created when absent; "-" = standard output. Default: no log. */
  readonly path?: string | undefined;
  /** Default json. */
  readonly format?: AuditLogFormat | undefined;
  /** Size in mebibytes beyond which the file is rotated. 0 = never. Default 100. */
  readonly maxMebibytes?: number | undefined;
  /** Number of rotated files to keep. 0 = all. Default 100. */
  readonly maxBackups?: number | undefined;
  /** Days to keep rotated files. 0 = forever. Default 366. */
  readonly maxDays?: number | undefined;
  /** Server to which events are posted. Default: none. */
  readonly webhook?: AuditWebhookSettings | undefined;
}

export interface AuditWebhookSettings extends AuditDelivery {
  /**
   * Path of a kubeconfig whose current context names the server, including the path of its URL, and the credentials.
   */
  readonly kubeconfig: string;
  /** Time before events are posted for the second time. Default 10 s. */
  readonly initialBackoffMs?: number | undefined;
}

interface Ports {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Returns undefined when nothing is recorded. Rejects with a StartError when the policy, the path or the kubeconfig cannot be used. */
export async function openAudit(
  settings: AuditSettings | undefined,
  { clock, logger }: Ports,
): Promise<AuditOptions | undefined> {
  if (settings === undefined) return undefined;
  const { policy: text, path, webhook, format, mode, batching, truncation } = settings;
  const { policy, warning } = await startingWith('audit.policy', () => parseAuditPolicy(text));
  if (warning !== undefined)
    logger.warn('the audit policy has unknown or duplicate fields, which are ignored', { warning });
  if (path === undefined && webhook === undefined) return undefined;
  const target =
    path === undefined ? undefined : await startingWith('audit.path', () => logTarget(path, { settings, clock }));
  // The client of the webhook is made last, because a failure after it would leave it open.
  const post =
    webhook &&
    (await startingWith('audit.webhook.kubeconfig', () => webhookTarget(webhook.kubeconfig, { clock, logger })));
  const log = target && { target, format, mode, batching, truncation };
  return { policy, backends: new AuditBackends({ log, webhook: post && { ...webhook, target: post }, clock, logger }) };
}

function logTarget(
  path: string,
  { settings, clock }: { readonly settings: AuditSettings; readonly clock: Clock },
): AuditLogTarget | Promise<AuditLogTarget> {
  if (path === '-') return streamTarget(process.stdout);
  const { maxMebibytes, maxBackups, maxDays } = settings;
  return AuditLogFile.open({ path, maxMebibytes, maxBackups, maxDays, clock });
}

/** Limit of one attempt. Source: apiserver util/webhook defaultRequestTimeout. */
const postTimeoutSeconds = 30;

/** The client makes no retries itself, because a failed batch is posted again anyway. */
async function webhookTarget(kubeconfig: string, { clock, logger }: Ports): Promise<AuditWebhookTarget> {
  // Only servers with such a webhook need the client's code.
  const { clientConfigOf, connect, loadKubeconfig } = await import('@kapstan/client');
  const config = clientConfigOf(await loadKubeconfig({ path: kubeconfig }));
  const { server, path } = splitServer(config.server);
  const timeoutMs = postTimeoutSeconds * 1000;
  const options = { clock, logger, timeoutMs, maxRetries: 0, userAgent: 'kapstan' };
  const client = await connect({ config: { ...config, server }, ...options });
  const request = { method: 'POST', path, query: { timeout: `${postTimeoutSeconds}s` }, accept } as const;
  return {
    post: async (body, signal) => void (await client.raw({ ...request, body, signal })),
    close: () => client.close(),
  };
}

const accept = 'application/json, */*';

/** Splits a server of a kubeconfig from the path that events are posted to. */
function splitServer(server: string): { readonly server: string; readonly path: string } {
  const [, origin = '', path = ''] = /^((?:[a-z][a-z0-9+.-]*:\/\/)?[^/]*)(.*)$/i.exec(server) ?? [];
  return { server: origin, path: path === '' ? '/' : path };
}

/** Writes lines to a stream whose reader may be slow or go away. */
export function streamTarget(stream: Writable): AuditLogTarget {
  tolerateErrors(stream);
  return {
    append: (lines) =>
      new Promise((resolve, reject) => {
        stream.write(lines, (error) => (error ? reject(error) : resolve()));
      }),
  };
}
