// Health checks of the program, shown at /healthz and /readyz together with the manager's own. Used by manager.ts; probe-server.ts runs
// them. Source: controller-runtime Manager.AddHealthzCheck and AddReadyzCheck.
import { inspect } from 'node:util';
import { type Clock, delay, type Logger } from '@kapstan/api';
import { requireObject } from '@kapstan/api/internal';
import type { Probe } from './probe-server.ts';

/**
 * A check of the program. It returns undefined (or a promise of it) while all is well, and otherwise a text about the problem, which
 * everybody who can reach the port may read. A check that throws or rejects fails, too, but its error is only logged, because it may quote
 * values. It has 5 s; then its signal aborts, and it fails. It is never called again before it has ended: probes in that time get the
 * answer of the run under way, and after its 5 s they learn at once that it has not ended.
 */
export type HealthCheck = (signal: AbortSignal) => unknown;

/** Health checks by name: `{ database: async (signal) => … }`. */
export type HealthChecks = Readonly<Record<string, HealthCheck>>;

interface CheckPorts {
  readonly clock: Clock;
  readonly logger: Logger;
}

const timeoutMs = 5000;
const lateText = `no answer within ${timeoutMs} ms`;
const taken: ReadonlySet<string> = new Set(['ping', 'leaderElection', 'informers', 'webhooks', 'shutdown']);

/** Throws TypeError unless given functions by names that are free and fit into a path. */
export function requireHealthChecks(checks: unknown, option: string): void {
  requireObject(checks, `${option}, such as { database: async () => undefined },`);
  for (const [name, check] of Object.entries(checks as object)) {
    if (typeof check !== 'function') throw new TypeError(`${option}.${name} must be a function, not ${inspect(check)}`);
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name))
      throw new TypeError(
        `${option}: ${inspect(name)} is not a valid name of a check: letters, digits, dots, dashes, at most 63`,
      );
    if (taken.has(name)) throw new TypeError(`${option}: the name ${name} is taken by a check of the manager`);
  }
}

/** Returns the checks as probes, which never reject. Each has at most one run at a time, whose answer all concurrent probes get. */
export function probesOf(checks: HealthChecks, ports: CheckPorts): Readonly<Record<string, Probe>> {
  return Object.fromEntries(
    Object.entries(checks).map(([name, check]) => {
      const asked = new AskedCheck(name, check.bind(checks), ports);
      return [name, () => asked.answer()];
    }),
  );
}

/** A run of a check that has not ended, though its answer may be given up. */
interface CheckRun {
  readonly startedAtMs: number;
  readonly answer: Promise<string | undefined>;
  isLate: boolean;
}

/** One check of the program. */
class AskedCheck {
  readonly #name: string;
  readonly #check: HealthCheck;
  readonly #ports: CheckPorts;
  #run: CheckRun | undefined;

  constructor(name: string, check: HealthCheck, ports: CheckPorts) {
    this.#name = name;
    this.#check = check;
    this.#ports = ports;
  }

  answer(): Promise<string | undefined> {
    const run = this.#run ?? this.#start();
    if (!run.isLate) return run.answer;
    const seconds = Math.floor((this.#ports.clock.monotonicNow() - run.startedAtMs) / 1000);
    return Promise.resolve(`${lateText}, and its run of ${seconds} s ago has not ended`);
  }

  #start(): CheckRun {
    const over = new AbortController();
    const ended = this.#ask(over.signal).finally(() => {
      this.#run = undefined;
    });
    const late = (): void => {
      run.isLate = true;
      over.abort(new Error(`the health check ${this.#name} did not answer within ${timeoutMs} ms`));
    };
    const answer = this.#inTime(ended, late);
    const run: CheckRun = { startedAtMs: this.#ports.clock.monotonicNow(), answer, isLate: false };
    this.#run = run;
    return run;
  }

  async #ask(signal: AbortSignal): Promise<string | undefined> {
    const answer: unknown = await this.#check(signal);
    if (answer === undefined || typeof answer === 'string') return answer === '' ? undefined : answer;
    throw new TypeError(`a health check returns nothing or a text, not ${inspect(answer)}`);
  }

  async #inTime(ended: Promise<string | undefined>, onLate: () => void): Promise<string | undefined> {
    const answered = new AbortController();
    const late = async (): Promise<string> => {
      await delay(this.#ports.clock, timeoutMs, answered.signal);
      onLate();
      return lateText;
    };
    try {
      return await Promise.race([ended, late()]);
    } catch (error) {
      this.#ports.logger.warn('a health check failed', { check: this.#name, error });
      return 'reason withheld';
    } finally {
      answered.abort();
    }
  }
}
