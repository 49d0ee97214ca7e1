// The progress that npm start prints while it builds.
import { beforeEach, describe, expect, it } from 'vitest';

interface Progress {
  line(text: string): void;
  tick(): void;
  end(): void;
}
interface ProgressOptions {
  readonly write: (text: string) => void;
  readonly isTty: boolean;
  readonly now: () => number;
}

// Plain JavaScript, because it runs before anything is installed.
const script = new URL('../../scripts/build-progress.mjs', import.meta.url).href;
const { BuildProgress } = (await import(script)) as {
  readonly BuildProgress: new (options: ProgressOptions) => Progress;
};

const report = [
  '12:31:23 AM - Projects in this build: ',
  '    * packages/api/tsconfig.json',
  '    * packages/kinds/tsconfig.json',
  '',
  "12:31:23 AM - Project 'packages/api/tsconfig.json' is out of date because output file 'x' does not exist",
  "12:31:23 AM - Building project '/somewhere/packages/api/tsconfig.json'...",
];

describe('the progress of a build', () => {
  let text: string;
  let nowMs: number;
  const write = (more: string): void => {
    text += more;
  };
  const progress = (isTty: boolean) => new BuildProgress({ isTty, write, now: () => nowMs });
  beforeEach(() => {
    text = '';
    nowMs = 0;
  });

  it('is one line that changes on a terminal, and is gone in the end', () => {
    const shown = progress(true);
    for (const line of report) shown.line(line);
    nowMs = 2000;
    shown.tick();
    shown.end();
    const clear = '\r\u001b[K';
    expect(text).toBe(`${clear}Build … 1 of 2, packages/api, 0 s${clear}Build … 1 of 2, packages/api, 2 s${clear}`);
  });

  it('is a line every ten seconds elsewhere, and none for a build that is quick', () => {
    const shown = progress(false);
    for (const line of report) shown.line(line);
    for (nowMs = 1000; nowMs <= 21_000; nowMs += 1000) shown.tick();
    shown.end();
    expect(text).toBe('Build … 1 of 2, packages/api, 10 s\nBuild … 1 of 2, packages/api, 20 s\n');
  });

  it('lets the errors of the compiler through', () => {
    const shown = progress(false);
    shown.line('packages/api/src/index.ts(1,1): error TS1005: X expected.');
    expect(text).toBe('packages/api/src/index.ts(1,1): error TS1005: X expected.\n');
  });
});
