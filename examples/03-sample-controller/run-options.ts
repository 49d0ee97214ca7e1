import type { Clock, Logger, ResourceClient } from '@kapstan/api';

/** Arguments of the sample controller, the same on each layer. */
export interface RunOptions {
  readonly client: ResourceClient;
  /** The controller runs until it aborts. */
  readonly signal: AbortSignal;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Told what fails. Default: nobody. */
  readonly logger?: Logger;
}
