// Names of the options that every call takes, for calls that are not verbs of a ResourceClient: logs, streams, raw requests.
import type { CallOptions, OptionNames } from '@kapstan/api';

export const callOptionNames: OptionNames<CallOptions> = { signal: true, timeoutMs: true, beforeAttempt: true };
