// Names of the options that every call takes, for calls that are not verbs of a ResourceClient: logs, streams, raw requests.
import type { CallOptions } from '@kapstan/api';
import type { OptionNames } from '@kapstan/api/internal';

export const callOptionNames: OptionNames<CallOptions> = { signal: true, timeoutMs: true, beforeAttempt: true };
