// Types of built-package.mjs for test/kapstan/built-packages.ts.
export function staleSources(folder: string): readonly string[];
