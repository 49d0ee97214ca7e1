import { defaultClientConditions, defaultServerConditions } from 'vite';
import { defaultExclude, defineConfig } from 'vitest/config';

// Tests run from sources: the condition makes @kapstan/* resolve to src/*.ts, so no build is needed first.
const source = '@kapstan/source';
// Node itself knows no condition "module": packages have files behind it that only bundlers can read, such as @opentelemetry/api 1.9.
const ofNode = (conditions: readonly string[]): string[] => [source, ...conditions.filter((one) => one !== 'module')];
const resolution = {
  resolve: { conditions: ofNode(defaultClientConditions) },
  ssr: { resolve: { conditions: ofNode(defaultServerConditions) } },
};

interface ProjectOptions {
  readonly include: string | readonly string[];
  readonly exclude?: readonly string[];
  readonly timeoutMs: number;
  readonly isSerial?: boolean;
  /** Files of one worker share their modules, which are then loaded once and not once for each file. */
  readonly sharesModules?: boolean;
  /** Tests start programs from dist, which must have the present code. */
  readonly needsBuild?: boolean;
}

const project = (name: string, options: ProjectOptions) => ({
  ...resolution,
  test: {
    name,
    include: [options.include].flat(),
    exclude: [...defaultExclude, ...(options.exclude ?? [])],
    environment: 'node' as const,
    pool: 'forks' as const,
    execArgv: ['--import', new URL('test/source-threads.mjs', import.meta.url).href],
    testTimeout: options.timeoutMs,
    hookTimeout: options.timeoutMs,
    fileParallelism: options.isSerial !== true,
    isolate: options.sharesModules !== true,
    globalSetup: options.needsBuild === true ? ['./test/kapstan/joined-packages.ts'] : [],
  },
});

const whole = (name: string) =>
  project(name, { include: `test/${name}/**/*.test.ts`, timeoutMs: 60_000, isSerial: true, needsBuild: true });

/** Unit tests that run suites of other files once more, which a module registers only when it is loaded. */
const apart = ['packages/client/src/wires/*.test.ts'];

/** What the compiler knows of the public API: checked by tsc, run by nobody. */
const types = {
  ...resolution,
  test: {
    name: 'types',
    include: [],
    typecheck: {
      enabled: true,
      only: true,
      include: ['test/types/**/*.test-d.ts'],
      tsconfig: './test/types/tsconfig.json',
    },
  },
};

export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      project('unit', {
        ...{ include: 'packages/*/src/**/*.test.ts', exclude: apart },
        ...{ timeoutMs: 10_000, sharesModules: true },
      }),
      project('apart', { include: apart, timeoutMs: 10_000 }),
      types,
      project('lint', { include: 'test/lint/**/*.test.ts', timeoutMs: 60_000 }),
      whole('wire'),
      whole('e2e'),
      whole('reliability'),
      project('load', { include: 'test/load/**/*.test.ts', timeoutMs: 600_000, isSerial: true, needsBuild: true }),
    ],
  },
});
