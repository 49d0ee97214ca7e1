import { setImmediate } from 'node:timers/promises';

export const later = (): Promise<void> => setImmediate();
