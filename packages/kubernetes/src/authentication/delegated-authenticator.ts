// Lets a main API server find the user of a bearer token, by token reviews. Used by API servers that join another one. Source: apiserver
// authenticatorfactory (DelegatingAuthenticatorConfig), plugin/pkg/authenticator/token/webhook.
import { type Clock, type ResourceClient, systemClock } from '@kapstan/api';
import { type Authenticator, bearerAuthenticator, type TokenResult } from '@kapstan/apiserver';
import { TokenReview } from '@kapstan/kinds/authentication.k8s.io/v1';
import { DelegatedAnswers } from './delegated-answers.ts';

/** Options of an API server that leaves authentication and authorization to another one. */
export interface DelegationOptions {
  /** A client of the main server whose user may create token reviews and access reviews (role system:auth-delegator). */
  readonly client: ResourceClient;
  /** Time for which answers are cached, in milliseconds. 0 = every request asks. Default 10 000. */
  readonly keptMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** Longest wait for an answer. */
const timeoutMs = 10_000;

export function delegatedAuthenticator({
  client,
  keptMs = 10_000,
  clock = systemClock,
}: DelegationOptions): Authenticator {
  const answers = new DelegatedAnswers<TokenResult>({ keptMs, clock });
  const authenticateToken = (token: string, asked: readonly string[]): Promise<TokenResult> =>
    answers.of(JSON.stringify([token, asked]), () => review(client, token, asked));
  return bearerAuthenticator({ authenticators: [{ authenticateToken }], apiAudiences: [] });
}

async function review(client: ResourceClient, token: string, audiences: readonly string[]): Promise<TokenResult> {
  const body: TokenReview = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token, ...(audiences.length > 0 && { audiences: [...audiences] }) },
  };
  const { status } = await client.create(TokenReview, body, { signal: AbortSignal.timeout(timeoutMs) });
  if (status?.error) return { type: 'refused', error: status.error };
  if (status?.authenticated !== true) return { type: 'unknown' };
  const { username = '', uid = '', groups = [], extra = {} } = status.user ?? {};
  const given = Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...(values ?? [])]]));
  const user = { name: username, ...(uid !== '' && { uid }), groups: [...groups], extra: given };
  return { type: 'accepted', user, audiences: [...(status.audiences ?? [])] };
}
