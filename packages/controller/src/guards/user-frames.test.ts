import { describe, expect, it } from 'vitest';
import { commonFrames, userFrames } from './user-frames.ts';

const frames = (...lines: readonly string[]): string => lines.map((line) => `\n    at ${line}`).join('');
const mine = ['Object.reconcile (file:///app/src/echo.js:12:9)', 'async load (/app/src/load.cjs:3:1)'];
const installed =
  'async ControllerRunner.run (file:///app/node_modules/@kapstan/controller/dist/controller-runner.js:1:2)';

describe('userFrames', () => {
  it('are those of the program and of the libraries that it uses', () => {
    const library = 'parse (/app/node_modules/yaml/dist/parse.js:1:1)';
    const stack = `Error: no\n  text of two lines${frames(
      library,
      ...mine,
      installed,
      `async ${new URL('../reconcile/reconcile-loop.ts', import.meta.url).href}:3:3`,
      'process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
      'node:internal/main/run_main_module:28:49',
      'RequestHandler.onError (/app/node_modules/undici/lib/api/api-request.js:1:1)',
      'async Promise.all (index 3)',
      'new Promise (<anonymous>)',
    )}`;
    expect(userFrames(stack)).toBe(frames(library, ...mine));
  });

  it('are none where all is ours', () => {
    expect(userFrames(`Error: no${frames(installed)}`)).toBe('');
  });
});

describe('commonFrames', () => {
  it('are the same for all workers', () => {
    const [one, two] = [1, 2].map((index) => `Error: no${frames(...mine, `async Promise.all (index ${index})`)}`);
    expect(commonFrames(String(one))).toBe(frames(...mine));
    expect(commonFrames(String(two))).toBe(frames(...mine));
  });
});
