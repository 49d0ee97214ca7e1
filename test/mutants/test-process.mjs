// A vitest process that stays while mutants come and go, so that each costs only the run of its test and not a start. It is a separate
// process, because a mutant may never end. Started by run.mjs, in the copy of the packages.
import { join } from 'node:path';
import { createVitest } from 'vitest/node';

const copy = process.cwd();
const vitest = await createVitest('test', {
  root: copy,
  config: join(copy, 'vitest.config.ts'),
  project: ['unit', 'lint'],
  watch: false,
  reporters: [{}],
});

/**
 * Runs the tests of these files whose name matches, after reading changed sources again. Answers the states of the tests that ran.
 */
async function runTests({ files, pattern, changed }) {
  for (const file of changed) vitest.invalidateFile(join(copy, file));
  vitest.setGlobalTestNamePattern(new RegExp(pattern));
  const project = vitest.getProjectByName(files.every((file) => file.startsWith('test/lint/')) ? 'lint' : 'unit');
  const specifications = files.map((file) => project.createSpecification(join(copy, file)));
  const { testModules } = await vitest.runTestSpecifications(specifications);
  // Vitest also returns the files of the runs before this one.
  const asked = testModules.filter((module) => files.some((file) => module.moduleId === join(copy, file)));
  const states = asked.flatMap((module) => [...module.children.allTests()].map((test) => test.result().state));
  return states.filter((state) => state === 'passed' || state === 'failed');
}

process.on('message', async (request) => {
  process.send({ states: await runTests(request) });
});
process.on('disconnect', () => process.exit());
process.send({ states: [] });
