import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bundled } from './testing/bundle.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const examples = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code);

/** Returns the text of the comments next to and below console.log, without blanks. */
function promised(code: string): string {
  const comments = [...code.matchAll(/\/\/ (.*)/g)].map(([, text = '']) => text);
  return comments.join('').replace(/\s/g, '');
}

/** Runs an example in its own function and returns its output. */
async function printed(code: string): Promise<string> {
  const script = await bundled(code.replaceAll('@kapstan/cel', './index.ts'), 'esm');
  const lines: string[] = [];
  const { inspect } = await import('node:util');
  const log = (...values: unknown[]): void => {
    lines.push(values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' '));
  };
  const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (
    ...args: string[]
  ) => (console: { log: typeof log }) => Promise<void>;
  await new AsyncFunction('console', script)({ log });
  return lines.join('').replace(/\s/g, '');
}

describe('the README', () => {
  it('has five examples', () => {
    expect(examples).toHaveLength(5);
  });

  it.each(examples.map((code, i) => [i + 1, code] as const))('example %d prints what it says', async (_, code) => {
    expect(await printed(code)).toBe(promised(code));
  });
});
