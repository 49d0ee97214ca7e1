// Health checks of the program, shown at /healthz and /readyz beside the manager's own. Used by manager.ts; probe-server.ts asks them.
// Source: controller-runtime Manager.AddHealthzCheck and AddReadyzCheck.
import { inspect } from 'node:util';
import { type Clock, delay, type Logger } from '@kapstan/api';
import { requireObject } from '@kapstan/api/internal';
import type { Probe } from './probe-server.ts';

/**
 * A check of the program. It returns nothing (or a promise of it) while all is well, and otherwise what is wrong, in a text that everybody who can reach the port may read. A
 * check that throws or rejects fails, too, but its error is only logged, because it may quote values. It has 5 s; its signal aborts then, and
 * it fails.
 */
export type HealthCheck = (signal: AbortSignal) => unknown;

/** Health checks by name: `{ database: async (signal) => … }`. */
export type HealthChecks = Readonly<Record<string, HealthCheck>>;

interface CheckPorts {
  readonly clock: Clock;
  readonly logger: Logger;
}

const timeoutMs = 5000;
const taken: ReadonlySet<string> = new Set(['ping', 'leaderElection', 'informers', 'webhooks', 'shutdown']);

/** Throws TypeError unless given functions by names that are free and fit into a path. */
export function requireHealthChecks(checks: unknown, option: string): void {
  requireObject(checks, `${option}, such as { database: async () => undefined },`);
  for (const [name, check] of Object.entries(checks as object)) {
    if (typeof check !== 'function') throw new TypeError(`${option}.${name} must be a function, not ${inspect(check)}`);
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name))
      throw new TypeError(
        `${option}: ${inspect(name)} is no name of a check: letters, digits, dots, dashes, at most 63`,
      );
    if (taken.has(name)) throw new TypeError(`${option}: the name ${name} is taken by a check of the manager`);
  }
}

/** Returns the checks as probes, which never reject. */
export function probesOf(checks: HealthChecks, ports: CheckPorts): Readonly<Record<string, Probe>> {
  return Object.fromEntries(
    Object.entries(checks).map(([name, check]) => [name, () => ask(name, check.bind(checks), ports)]),
  );
}

async function ask(name: string, check: HealthCheck, { clock, logger }: CheckPorts): Promise<string | undefined> {
  const over = new AbortController();
  const answered = new AbortController();
  const late = async (): Promise<string> => {
    await delay(clock, timeoutMs, answered.signal);
    over.abort(new Error(`the health check ${name} did not answer within ${timeoutMs} ms`));
    return `no answer within ${timeoutMs} ms`;
  };
  const asked = async (): Promise<string | undefined> => {
    const answer: unknown = await check(over.signal);
    if (answer === undefined || typeof answer === 'string') return answer === '' ? undefined : answer;
    throw new TypeError(`a health check returns nothing or a text, not ${inspect(answer)}`);
  };
  try {
    return await Promise.race([asked(), late()]);
  } catch (error) {
    logger.warn('a health check failed', { check: name, error });
    return 'reason withheld';
  } finally {
    answered.abort();
  }
}
