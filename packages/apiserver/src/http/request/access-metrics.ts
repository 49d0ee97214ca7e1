// AccessMetrics counts and times authentication and authorization, under kube-apiserver's names. Filled by the request
// chain. Source: apiserver endpoints/filters/metrics.go, filters/impersonation/metrics.

import type { Clock } from '@kapstan/api';
import { Histogram, isPromiseLike, LabelSeries, type MetricFamily } from '@kapstan/api/internal';
import type { AuthenticationResult } from '../../authn/authenticator.ts';
import type { ImpersonationRecord } from '../../authn/impersonator.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from '../../authz/authorizer.ts';
import type { MaybePromise } from '../../registry/definition/first-decision.ts';

/** 1 ms, doubled 14 times. */
const buckets = Array.from({ length: 15 }, (_, i) => 2 ** i / 1000);

const shownUsers = new Set(['admin', 'client', 'kube_proxy', 'kubelet', 'system:serviceaccount:kube-system:default']);

interface AttemptNames {
  readonly count: string;
  readonly seconds: string;
  readonly what: string;
}

/** Counts and durations of one kind of check, with the same labels. */
class Attempts<L extends string> {
  readonly #names: AttemptNames;
  readonly #seconds: LabelSeries<Histogram> = new LabelSeries(() => new Histogram(buckets));

  constructor(names: AttemptNames) {
    this.#names = names;
  }

  /** Counts one check. `key` represents the labels. */
  add(key: string, labels: () => Readonly<Record<L, string>>, durationMs: number): void {
    this.#seconds.of(key, labels).observe(durationMs / 1000);
  }

  families(): MetricFamily[] {
    const { count, seconds, what } = this.#names;
    const counted = this.#seconds.samples((histogram) => histogram.counts().count);
    const measured = this.#seconds.samples((histogram) => histogram.counts());
    return [
      { name: count, help: `${what} by result.`, type: 'counter', samples: counted },
      { name: seconds, help: `Duration of ${what.toLowerCase()} by result.`, type: 'histogram', samples: measured },
    ];
  }
}

export class AccessMetrics {
  readonly #clock: Clock;
  readonly #users: LabelSeries<{ requests: number }> = new LabelSeries(() => ({ requests: 0 }));
  readonly #authentication: Attempts<'result'> = new Attempts({
    count: 'authentication_attempts',
    seconds: 'authentication_duration_seconds',
    what: 'Authentications',
  });
  readonly #authorization: Attempts<'result'> = new Attempts({
    count: 'authorization_attempts_total',
    seconds: 'authorization_duration_seconds',
    what: 'Authorizations',
  });
  readonly #impersonation: Attempts<'mode' | 'decision'> = new Attempts({
    count: 'apiserver_impersonation_attempts_total',
    seconds: 'apiserver_impersonation_attempts_duration_seconds',
    what: 'Impersonations',
  });
  readonly #impersonationChecks: Attempts<'mode' | 'decision'> = new Attempts({
    count: 'apiserver_impersonation_authorization_attempts_total',
    seconds: 'apiserver_impersonation_authorization_attempts_duration_seconds',
    what: 'Authorizations of impersonations',
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  families(): MetricFamily[] {
    const users = this.#users.samples(({ requests }) => requests);
    const help = 'Authenticated requests, by user name.';
    return [
      { name: 'authenticated_user_requests', help, type: 'counter', samples: users },
      ...this.#authentication.families(),
      ...this.#authorization.families(),
      ...this.#impersonation.families(),
      ...this.#impersonationChecks.families(),
    ];
  }

  /**
   * Counts an authentication: "failure" when the user is unknown, "error" when the check failed or credentials are
   * malformed.
   */
  authenticated(ask: () => MaybePromise<AuthenticationResult>): MaybePromise<AuthenticationResult> {
    const startMs = this.#clock.monotonicNow();
    return observed(ask, (user) => {
      const isKnown = user !== undefined && typeof user !== 'string';
      if (isKnown) {
        const username = shownName(user.name);
        this.#users.of(username, () => ({ username })).requests++;
      }
      const result = isKnown ? 'success' : user === 'none' ? 'failure' : 'error';
      this.#authentication.add(result, () => ({ result }), this.#clock.monotonicNow() - startMs);
    });
  }

  /** Wraps an authorizer so that it counts requests. */
  ofRequests(authorizer: Authorizer): Authorizer {
    const results = { allow: 'allowed', deny: 'denied', noOpinion: 'no-opinion', error: 'error' };
    return this.#counted(authorizer, (_attributes, decision, durationMs) => {
      const result = results[decision];
      this.#authorization.add(result, () => ({ result }), durationMs);
    });
  }

  /** Wraps an authorizer so that it counts impersonations. */
  ofImpersonations(authorizer: Authorizer): Authorizer {
    return this.#counted(authorizer, ({ verb }, decision, durationMs) => {
      const labels = { mode: modeOfVerb(verb), decision: decision === 'allow' ? 'allowed' : 'denied' };
      this.#impersonationChecks.add(`${labels.mode} ${labels.decision}`, () => labels, durationMs);
    });
  }

  addImpersonation({ mode, decision, durationMs }: ImpersonationRecord): void {
    this.#impersonation.add(`${mode} ${decision}`, () => ({ mode, decision }), durationMs);
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
      authorize: (attributes) => {
        const startMs = this.#clock.monotonicNow();
        return observed(
          () => authorizer.authorize(attributes),
          (answer) => add(attributes, answer?.decision ?? 'error', this.#clock.monotonicNow() - startMs),
        );
      },
    };
  }
}

/** Calls `tell` with the answer, or undefined for a failure; in this turn if the answer is already known. */
function observed<R>(ask: () => MaybePromise<R>, tell: (answer: R | undefined) => void): MaybePromise<R> {
  const passed = (answer: R): R => {
    tell(answer);
    return answer;
  };
  const failed = (error: unknown): never => {
    tell(undefined);
    throw error;
  };
  let answer: MaybePromise<R>;
  try {
    answer = ask();
  } catch (error) {
    return failed(error);
  }
  return isPromiseLike(answer) ? Promise.resolve(answer).then(passed, failed) : passed(answer);
}

/**
 * There may be any number of user names, so only those of the system are shown unchanged. Source:
 * filters.compressUsername.
 */
function shownName(name: string): string {
  if (shownUsers.has(name)) return name;
  return name.includes('@') ? 'email_id' : 'other';
}

/** "impersonate:node" and "impersonate-on:node:get" both have the mode "node". */
function modeOfVerb(verb: string): string {
  if (verb === 'impersonate') return 'legacy';
  return /^impersonate(?:-on)?:([^:]+)/.exec(verb)?.[1] ?? 'unknown';
}
