// AccessMetrics: how often and how long identities and permissions were looked for, under kube-apiserver's names. Filled by
// the request chain. Source: apiserver endpoints/filters/metrics.go, filters/impersonation/metrics.
import type { Clock } from '@kapstan/api';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { AuthenticationResult } from '../authn/authenticator.ts';
import type { ImpersonationRecord } from '../authn/impersonator.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from '../authz/authorizer.ts';

/** 1 ms, doubled 14 times. */
const buckets = Array.from({ length: 15 }, (_, i) => 2 ** i / 1000);

const shownUsers = new Set(['admin', 'client', 'kube_proxy', 'kubelet', 'system:serviceaccount:kube-system:default']);

/** Counts and durations of one thing, by the same labels. */
class Attempts<L extends string> {
  readonly #count: Counter<L>;
  readonly #seconds: Histogram<L>;

  constructor(registry: Registry, names: { count: string; seconds: string; what: string }, labelNames: readonly L[]) {
    const registers = [registry];
    this.#count = new Counter({ name: names.count, help: `${names.what} by result.`, labelNames, registers });
    const help = `Duration of ${names.what.toLowerCase()} by result.`;
    this.#seconds = new Histogram({ name: names.seconds, help, labelNames, buckets, registers });
  }

  add(labels: Readonly<Record<L, string>>, durationMs: number): void {
    this.#count.inc(labels);
    this.#seconds.observe(labels, durationMs / 1000);
  }
}

export class AccessMetrics {
  readonly #clock: Clock;
  readonly #users: Counter<'username'>;
  readonly #authentication: Attempts<'result'>;
  readonly #authorization: Attempts<'result'>;
  readonly #impersonation: Attempts<'mode' | 'decision'>;
  readonly #impersonationChecks: Attempts<'mode' | 'decision'>;

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock;
    this.#users = new Counter({
      name: 'authenticated_user_requests',
      help: 'Requests of users who are known, by kinds of names.',
      labelNames: ['username'],
      registers: [registry],
    });
    this.#authentication = new Attempts(
      registry,
      { count: 'authentication_attempts', seconds: 'authentication_duration_seconds', what: 'Authentications' },
      ['result'],
    );
    this.#authorization = new Attempts(
      registry,
      { count: 'authorization_attempts_total', seconds: 'authorization_duration_seconds', what: 'Authorizations' },
      ['result'],
    );
    const prefix = 'apiserver_impersonation';
    this.#impersonation = new Attempts(
      registry,
      { count: `${prefix}_attempts_total`, seconds: `${prefix}_attempts_duration_seconds`, what: 'Impersonations' },
      ['mode', 'decision'],
    );
    this.#impersonationChecks = new Attempts(
      registry,
      {
        count: `${prefix}_authorization_attempts_total`,
        seconds: `${prefix}_authorization_attempts_duration_seconds`,
        what: 'Authorizations of impersonations',
      },
      ['mode', 'decision'],
    );
  }

  /** What was asked for, counted: "failure" is nobody, "error" what is wrong or could not be checked. */
  async authenticated(ask: () => Promise<AuthenticationResult>): Promise<AuthenticationResult> {
    const startMs = this.#clock.monotonicNow();
    let result = 'error';
    try {
      const user = await ask();
      if (typeof user !== 'string') this.#users.inc({ username: shownName(user.name) });
      if (user !== 'invalid') result = user === 'none' ? 'failure' : 'success';
      return user;
    } finally {
      this.#authentication.add({ result }, this.#clock.monotonicNow() - startMs);
    }
  }

  /** The same authorizer, counted as that of requests. */
  ofRequests(authorizer: Authorizer): Authorizer {
    const results = { allow: 'allowed', deny: 'denied', noOpinion: 'no-opinion', error: 'error' };
    return this.#counted(authorizer, (_attributes, decision, durationMs) => {
      this.#authorization.add({ result: results[decision] }, durationMs);
    });
  }

  /** The same authorizer, counted as that of impersonations. */
  ofImpersonations(authorizer: Authorizer): Authorizer {
    return this.#counted(authorizer, ({ verb }, decision, durationMs) => {
      const labels = { mode: modeOfVerb(verb), decision: decision === 'allow' ? 'allowed' : 'denied' };
      this.#impersonationChecks.add(labels, durationMs);
    });
  }

  addImpersonation({ mode, decision, durationMs }: ImpersonationRecord): void {
    this.#impersonation.add({ mode, decision }, durationMs);
  }

  #counted(
    authorizer: Authorizer,
    add: (
      attributes: AuthorizationAttributes,
      decision: AuthorizationDecision['decision'] | 'error',
      durationMs: number,
    ) => void,
  ): Authorizer {
    return {
      authorize: async (attributes) => {
        const startMs = this.#clock.monotonicNow();
        let decision: AuthorizationDecision['decision'] | 'error' = 'error';
        try {
          const answer = await authorizer.authorize(attributes);
          decision = answer.decision;
          return answer;
        } finally {
          add(attributes, decision, this.#clock.monotonicNow() - startMs);
        }
      },
    };
  }
}

/** Names of users are theirs, and any number. Source: filters.compressUsername. */
function shownName(name: string): string {
  if (shownUsers.has(name)) return name;
  return name.includes('@') ? 'email_id' : 'other';
}

/** "impersonate:node" and "impersonate-on:node:get" are of the mode "node". */
function modeOfVerb(verb: string): string {
  if (verb === 'impersonate') return 'legacy';
  return /^impersonate(?:-on)?:([^:]+)/.exec(verb)?.[1] ?? 'unknown';
}
