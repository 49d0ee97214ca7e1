import { once } from 'node:events';
import { type LogFields, silentLogger } from '@kapstan/api';
import { expect, it } from 'vitest';
import { printIntoLog } from './library-output.ts';

it('makes records of what libraries print, without stacks, until it is taken back', async () => {
  const records: unknown[] = [];
  const write =
    (level: string) =>
    (message: string, fields?: LogFields): void =>
      void records.push([level, message, fields]);
  const before = [console.error, console.warn, process.listeners('warning')];
  const restore = printIntoLog({ ...silentLogger, error: write('error'), warn: write('warn'), debug: write('debug') });
  try {
    console.error(Object.assign(new Error('Input/output error'), { code: 5 }));
    console.warn('%d of', 1, { a: 1 });
    for (const type of ['DeprecationWarning', 'Warning']) {
      const told = once(process, 'warning');
      process.emitWarning('old', { type, code: 'DEP0123' });
      await told;
    }
  } finally {
    restore();
  }
  expect(records).toEqual([
    ['error', 'output of a library', { text: 'Error: Input/output error' }],
    ['warn', 'output of a library', { text: '1 of { a: 1 }' }],
    ['debug', 'old', { name: 'DeprecationWarning', code: 'DEP0123' }],
    ['warn', 'old', { name: 'Warning', code: 'DEP0123' }],
  ]);
  expect([console.error, console.warn, process.listeners('warning')]).toEqual(before);
});
