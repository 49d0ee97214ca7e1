import type { One } from './no-import-cycles.ts';

export type Other = One | 1;
