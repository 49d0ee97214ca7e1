// Follows the redirects of a webhook as Go's HTTP client does, with which kube-apiserver calls webhooks, except that it stays with https and
// keeps credentials for the host for which they were given. Used by webhook-pool.ts. Source: net/http redirectBehavior, Client.do.
import { goQuote, messageOf } from '@kapstan/api/internal';
import type { WebhookAnswer } from './webhook-connection.ts';
import { placeAddress, type WebhookAddress, type WebhookTarget } from './webhook-target.ts';

/** One request of a call. */
export interface WebhookStep {
  readonly address: WebhookAddress;
  /** 'GET': without the body. */
  readonly method: 'POST' | 'GET';
  /** URL that redirected here; undefined for the first request. */
  readonly referer: string | undefined;
  /** Number of redirects before this request. */
  readonly redirects: number;
}

const maxRedirects = 10;
/** Codes after which the method becomes GET, and codes after which it stays. */
const seeOther: ReadonlySet<number> = new Set([301, 302, 303]);
const temporary: ReadonlySet<number> = new Set([307, 308]);

export function firstStep(address: WebhookAddress): WebhookStep {
  return { address, method: 'POST', referer: undefined, redirects: 0 };
}

/**
 * Returns the request that the answer asks for; undefined = the answer is final. Throws an Error with Go's text for a place that cannot be
 * asked.
 */
export function nextStep(step: WebhookStep, answer: WebhookAnswer, target: WebhookTarget): WebhookStep | undefined {
  const { code, location } = answer;
  const { address, redirects } = step;
  const becomesGet = seeOther.has(code);
  if (location === '' || !(becomesGet || temporary.has(code))) return undefined;
  const url = resolved(location, address.url);
  if (redirects + 1 >= maxRedirects) throw failure(withoutUser(location), `stopped after ${maxRedirects} redirects`);
  if (url.protocol !== 'https:')
    throw failure(url.href, `unsupported protocol scheme ${goQuote(url.protocol.slice(0, -1))}`);
  const next = placeAddress(url, target);
  return { address: next, method: becomesGet ? 'GET' : step.method, referer: address.url, redirects: redirects + 1 };
}

function resolved(location: string, base: string): URL {
  // Go does not look into the query.
  const [broken] = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(location.replace(/^([^?#]*)\?[^#]*/, '$1')) ?? [];
  try {
    if (broken !== undefined) throw new TypeError(`invalid URL escape ${goQuote(broken)}`);
    const url = new URL(location, base);
    // Errors and the next webhook see the URL.
    url.username = url.password = url.hash = '';
    return url;
  } catch (error) {
    const text = goQuote(withoutUser(location));
    const why = `failed to parse Location header ${text}: parse ${text}: ${messageOf(error)}`;
    throw failure(base, why, error);
  }
}

/** Returns the place without user and password, for errors. */
function withoutUser(location: string): string {
  return location.replace(/^([a-z][a-z0-9+.-]*:[/\\]*|[/\\]{2,})[^/\\?#]*@/i, '$1');
}

function failure(url: string, why: string, cause?: unknown): Error {
  return new Error(`Post ${goQuote(url)}: ${why}`, { cause });
}
