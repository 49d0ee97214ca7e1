// Types of built-package.mjs for test/kapstan/built-packages.ts.
export function staleSources(folder: string): readonly string[];
export function isJoinStale(folder: string): boolean;
export function joinsModules(folder: string): boolean;
