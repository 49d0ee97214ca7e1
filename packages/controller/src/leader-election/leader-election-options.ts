// What a leader election needs to know, with client-go's rules for it. Read by leader-elector.ts and manager.ts.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Clock, type Logger, type ResourceClient, silentLogger, systemClock } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import {
  boundCallbacks,
  type OptionNames,
  requireCallbacks,
  requireClock,
  requireFunctions,
  requireLogger,
  requireNotNegative,
  requireString,
} from '@kapstan/api/internal';
import type { EventRecorder } from '../events/event-recorder.ts';
import { guardedLogger } from '../guarded-logger.ts';
import { givenOptions, requireOptionNames } from '../option-names.ts';

export interface LeaderElectionTimes {
  /** How long others wait after the last renewal that they saw, in milliseconds, rounded up to seconds. Default 15 000. */
  readonly leaseDurationMs?: number;
  /** How long after the start of its last successful renewal a leader goes on, in milliseconds. Below `leaseDurationMs`. Default 10 000. */
  readonly renewDeadlineMs?: number;
  /** Pause between two renewals, and base of the pause between two attempts to acquire, in milliseconds. Default 2000. */
  readonly retryPeriodMs?: number;
}

export interface LeaderElectionOptions extends LeaderElectionTimes {
  /** Of the Lease. */
  readonly name: string;
  /** Of the Lease. */
  readonly namespace: string;
  /** Who this process is; no two may have the same. Default: the host's name and a random UUID. */
  readonly identity?: string;
  /** False: the Lease is left to run out instead of being given back when the work has ended. Default true. */
  readonly releasesOnStop?: boolean;
}

export interface LeaderElectorOptions extends LeaderElectionOptions {
  readonly client: ResourceClient;
  readonly clock?: Clock;
  /** Uniform in [0, 1), for the jitter between attempts. Default Math.random. */
  readonly random?: () => number;
  /**
   * Told at level info when this process begins to wait for the Lease, which other process is seen to hold it, and when this one
   * has it; at level warn or error what goes wrong. Default: nobody.
   */
  readonly logger?: Logger;
  /** Writes an Event about the Lease when this process begins to lead and when it ends in peace. Default: none. */
  readonly recorder?: Pick<EventRecorder, 'record'>;
  /** Told whenever this process begins or ceases to lead. */
  readonly onChange?: (isLeader: boolean) => void;
  /** Told of each renewal that had to read the Lease first: another has written it, or the write before failed. */
  readonly onSlowRenewal?: () => void;
  /** Told of each holder that is seen, also of the first and of this process. */
  readonly onNewLeader?: (identity: string) => void;
}

export const leaderElectionOptionNames: OptionNames<LeaderElectionOptions> = {
  name: true,
  namespace: true,
  identity: true,
  releasesOnStop: true,
  leaseDurationMs: true,
  renewDeadlineMs: true,
  retryPeriodMs: true,
};
const electorOptionNames: OptionNames<LeaderElectorOptions> = {
  ...leaderElectionOptionNames,
  client: true,
  clock: true,
  random: true,
  logger: true,
  recorder: true,
  onChange: true,
  onSlowRenewal: true,
  onNewLeader: true,
};

export type ResolvedLeaderElectorOptions = Required<LeaderElectorOptions>;

/** Each pause between two attempts to acquire is the period and up to this many times it. Source: client-go JitterFactor. */
export const jitterFactor = 1.2;

const callbacks = ['random', 'onChange', 'onSlowRenewal', 'onNewLeader'] as const;

const defaults = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2000,
  releasesOnStop: true,
} as const;

/** Fills in the defaults. Throws TypeError, with client-go's rules, and its texts where they name no option. */
export function resolveLeaderElectorOptions(options: LeaderElectorOptions): ResolvedLeaderElectorOptions {
  requireOptionNames(options, electorOptionNames, 'a LeaderElector');
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
  requireOptions(resolved);
  const problem = problemOf(resolved);
  if (problem !== undefined) throw new TypeError(problem);
  return { ...resolved, logger: guardedLogger(resolved.logger) };
}

/** What Go's compiler, or the server, would say. */
function requireOptions(options: ResolvedLeaderElectorOptions): void {
  requireFunctions(options.client, 'client', ['get', 'create', 'update']);
  requireClock(options.clock);
  requireLogger(options.logger);
  requireFunctions(options.recorder, 'recorder', ['record']);
  requireCallbacks(options, callbacks);
  for (const name of ['leaseDurationMs', 'renewDeadlineMs', 'retryPeriodMs'] as const)
    requireNotNegative(options[name], name);
  requireString(options.identity, 'identity');
}

function problemOf(options: ResolvedLeaderElectorOptions): string | undefined {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs, identity, name } = options;
  // One of the two may be a default, which the user never wrote.
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
