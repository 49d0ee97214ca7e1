// Options of a leader election, with client-go's rules for them. Read by leader-elector.ts and manager-checks.ts.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, type Logger, type ResourceClient, silentLogger, systemClock } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import {
  boundCallbacks,
  checkedElsewhere,
  type OptionTable,
  objectWith,
  optional,
  requireClock,
  requireFunction,
  requireLogger,
  requireNotNegative,
  requireString,
} from '@kapstan/api/internal';
import type { EventRecorder } from '../events/event-recorder.ts';
import { guardedLogger } from '../guards/guarded-logger.ts';
import { givenOptions, requirePartOptions } from '../guards/part-options.ts';

/** Times of an election, in milliseconds. Defaults are client-go's: 15, 10 and 2 s. */
export interface LeaderElectionTimes {
  /**
   * Time for which others wait after the last renewal that they saw, in milliseconds, rounded up to seconds. Default 15
   * 000.
   */
  readonly leaseDurationMs?: number;
  /**
   * Time for which a leader continues after the start of its last successful renewal, in milliseconds. Below
   * `leaseDurationMs`. Default 10 000.
   */
  readonly renewDeadlineMs?: number;
  /** Pause between two renewals, and base of the pause between attempts to acquire, in milliseconds. Default 2000. */
  readonly retryPeriodMs?: number;
}

/** The Lease by which a leader is elected, and its times. */
export interface LeaderElectionOptions extends LeaderElectionTimes {
  /** Name of the Lease. */
  readonly name: string;
  /** Namespace of the Lease. */
  readonly namespace: string;
  /** Name of this process, which must be unique. Default: the host's name and a random UUID. */
  readonly identity?: string;
  /** False = the Lease runs out instead of being released when the work has ended. Default true. */
  readonly releasesOnStop?: boolean;
}

/** Options of a {@link LeaderElector}. */
export interface LeaderElectorOptions extends LeaderElectionOptions {
  readonly client: ResourceClient;
  readonly clock?: Clock;
  /** Uniform in [0, 1), for the jitter between attempts. Default Math.random. */
  readonly random?: () => number;
  /**
   * Receives lines at level info when this process begins to wait for the Lease, with the process that holds it, and
   * when this one has it; failures at level warn or error. Default: nothing.
   */
  readonly logger?: Logger;
  /** Writes an Event about the Lease when this process begins to lead and when it releases the Lease. Default: none. */
  readonly recorder?: Pick<EventRecorder, 'record'>;
  /** Called whenever this process begins or stops leading. */
  readonly onChange?: (isLeader: boolean) => void;
  /**
   * Called for each renewal that had to read the Lease first, because another process has written it or the last write
   * failed.
   */
  readonly onSlowRenewal?: () => void;
  /** Called for each new holder, including the first one and this process. */
  readonly onNewLeader?: (identity: string) => void;
}

export const leaderElectionTable: OptionTable<LeaderElectionOptions> = {
  // Checked by problemOf.
  name: checkedElsewhere,
  namespace: checkedElsewhere,
  identity: optional(requireString),
  releasesOnStop: checkedElsewhere,
  leaseDurationMs: optional(requireNotNegative),
  renewDeadlineMs: optional(requireNotNegative),
  retryPeriodMs: optional(requireNotNegative),
};
const electorTable: OptionTable<LeaderElectorOptions> = {
  client: objectWith('get', 'create', 'update'),
  clock: requireClock,
  logger: requireLogger,
  recorder: optional(objectWith('record')),
  random: requireFunction,
  onChange: requireFunction,
  onSlowRenewal: requireFunction,
  onNewLeader: requireFunction,
  ...leaderElectionTable,
};

export type ResolvedLeaderElectorOptions = Required<LeaderElectorOptions>;

/** Pauses between attempts to acquire are the period plus up to this many times it. Source: client-go JitterFactor. */
export const jitterFactor = 1.2;

const callbacks = ['random', 'onChange', 'onSlowRenewal', 'onNewLeader'] as const;

const defaults = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2000,
  releasesOnStop: true,
} as const;

/** Fills in the defaults. Throws TypeError by client-go's rules, and with its texts where they name no option. */
export function resolveLeaderElectorOptions(options: LeaderElectorOptions): ResolvedLeaderElectorOptions {
  requirePartOptions(options, electorTable, 'a LeaderElector');
  const resolved: ResolvedLeaderElectorOptions = {
    ...defaults,
    identity: `${hostname()}_${randomUUID()}`,
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
    recorder: { record: () => undefined },
    onChange: () => undefined,
    onSlowRenewal: () => undefined,
    onNewLeader: () => undefined,
    ...givenOptions(boundCallbacks(options, callbacks)),
  };
  const problem = problemOf(resolved);
  if (problem !== undefined) throw new TypeError(problem);
  return { ...resolved, logger: guardedLogger(resolved.logger) };
}

function problemOf(options: ResolvedLeaderElectorOptions): string | undefined {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs, identity, name } = options;
  // The message names both, because one may be a default that the user never wrote.
  if (!(leaseDurationMs > renewDeadlineMs))
    return `leaseDurationMs (${leaseDurationMs}) must be greater than renewDeadlineMs (${renewDeadlineMs})`;
  if (!(renewDeadlineMs > retryPeriodMs * jitterFactor))
    return `renewDeadlineMs (${renewDeadlineMs}) must be greater than retryPeriodMs (${retryPeriodMs}) * ${jitterFactor}`;
  if (!(retryPeriodMs > 0)) return 'retryPeriodMs must be greater than zero';
  if (identity === '') return 'Lock identity is empty';
  if (typeof name !== 'string' || name === '') return 'Lock name is empty';
  const [problem] = [...dnsSubdomainErrors(name), ...dnsLabelErrors(options.namespace)];
  return problem === undefined ? undefined : `no Lease can be named ${name} in ${options.namespace}: ${problem}`;
}
