import type { Second } from './cycle-second.ts'; export type First = Second | 1;
