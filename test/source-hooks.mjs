// Hooks of source-threads.mjs: resolve @kapstan/* to their sources, and strip the types of loaded files.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from 'rolldown/experimental';

export function resolve(specifier, context, next) {
  return next(specifier, { ...context, conditions: ['@kapstan/source', ...context.conditions] });
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const file = fileURLToPath(url);
  const { code } = await transform(file, await readFile(file, 'utf8'));
  return { format: 'module', source: code, shortCircuit: true };
}
