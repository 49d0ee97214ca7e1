import type { Clock, Logger, ResourceClient } from '@kapstan/api';

/** What the sample controller runs with, on each layer. */
export interface RunOptions {
  readonly client: ResourceClient;
  /** The controller runs until it aborts. */
  readonly signal: AbortSignal;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Told what fails. Default: nobody. */
  readonly logger?: Logger;
}
