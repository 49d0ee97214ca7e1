// RequestAudit begins the audit trail of a request at the level of the policy, and ends it. It sits between
// request-chain.ts and ../audit. Source: apiserver endpoints/filters/{audit,authn_audit}.go, apimachinery util/net
// SourceIPs.
import { isIP } from 'node:net';
import type { Clock } from '@kapstan/api';
import type { AuditBackends } from '../../audit/audit-backends.ts';
import type { ObjectReference } from '../../audit/audit-event.ts';
import { type AuditPolicy, decideAudit } from '../../audit/audit-policy.ts';
import { AuditTrail } from '../../audit/audit-trail.ts';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { isLongRunning, type RequestInfo } from '../exchange/request-info.ts';
import { attributesOf } from './request-access.ts';

/** Options of auditing: the policy, and where events go. */
export interface AuditOptions {
  readonly policy: AuditPolicy;
  readonly backends: AuditBackends;
}

const nobody: UserInfo = { name: '', groups: [] };
/** Longer user agents are cut. */
const maxUserAgentLength = 1024;

export interface AuditedArrival {
  /** Undefined = unknown. */
  readonly user: UserInfo | undefined;
  /** When the request arrived, on the monotonic clock. */
  readonly arrivedMs: number;
}

export class RequestAudit {
  readonly #options: AuditOptions;
  readonly #clock: Clock;

  constructor(options: AuditOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  /**
   * Begins the trail. Resolves to false when the request could not be recorded and must not proceed.
   */
  async begin(exchange: Exchange, info: RequestInfo, { user, arrivedMs }: AuditedArrival): Promise<boolean> {
    const { policy, backends } = this.#options;
    const decision = decideAudit(policy, { ...attributesOf(info, user ?? nobody), user });
    backends.countLevel(decision.level);
    if (decision.level === 'None') return true;
    const objectRef = referenceOf(info);
    const start = {
      auditId: exchange.auditId,
      requestUri: exchange.url,
      verb: info.verb,
      user,
      sourceIps: sourceIpsOf(exchange),
      userAgent: cutUserAgent(exchange.header('user-agent') ?? ''),
      objectRef,
      receivedMs: this.#clock.now() - (this.#clock.monotonicNow() - arrivedMs),
    };
    const trail = new AuditTrail({
      start,
      decision,
      backends,
      clock: this.#clock,
      isLongRunning: user === undefined || isLongRunning(info),
    });
    for (const [key, value] of exchange.earlyAnnotations) trail.annotate(key, value);
    // The trail is set before the first event, because an answer that cannot wait for the log is an event too.
    exchange.audit = trail;
    if (user === undefined || (await trail.receive())) return true;
    exchange.audit = undefined;
    backends.countRejection();
    return false;
  }
}

/** Ends the trail now, or together with an answer that is still being sent. */
export function endAudit(exchange: Exchange): void {
  const { audit } = exchange;
  if (audit === undefined) return;
  if (exchange.isOver) audit.complete();
  else exchange.onClose(() => audit.complete());
}

function referenceOf(info: RequestInfo): ObjectReference | undefined {
  if (info.type === 'path') return undefined;
  const { resource, namespace, name, group: apiGroup, version: apiVersion, subresource } = info;
  return { resource, namespace, name, uid: '', apiGroup, apiVersion, resourceVersion: '', subresource };
}

/** Returns the addresses of proxies that the headers name, and the sender's. Only the last one is certain. */
function sourceIpsOf(exchange: Exchange): readonly string[] {
  const forwarded = (exchange.headerValues('x-forwarded-for')[0] ?? '').split(',').map((part) => part.trim());
  const ips = forwarded.filter((part) => isIP(part) !== 0);
  const real = exchange.headerValues('x-real-ip')[0]?.trim() ?? '';
  if (isIP(real) !== 0 && !ips.includes(real)) ips.push(real);
  const remote = exchange.socket?.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '');
  if (remote !== undefined && ips.at(-1) !== remote) ips.push(remote);
  return ips;
}

function cutUserAgent(text: string): string {
  return text.length > maxUserAgentLength ? `${text.slice(0, maxUserAgentLength)}...TRUNCATED` : text;
}
