// A vitest reporter that writes reports/vitest.json, or $KAPSTAN_TEST_REPORT: every test with its state, its errors
// and, when skipped, the reason given to `ctx.skip('reason')`, which vitest's own JSON reporter leaves out.
import { mkdirSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';

const message = (error) => error.stack ?? error.message ?? String(error);

function describeTest(test, file) {
  const { state, note, errors } = test.result();
  const reason = note ?? (test.options.mode === 'todo' ? 'todo' : 'skipped in the source, without a reason');
  return {
    name: test.fullName,
    file,
    state,
    ...(state === 'skipped' ? { note: reason } : {}),
    errors: (errors ?? []).map(message),
  };
}

export default class NotesReporter {
  onTestRunEnd(modules, unhandled, reason) {
    const tests = [];
    const errors = unhandled.map((error) => ({ message: message(error) }));
    for (const module of modules) {
      const file = `${relative(process.cwd(), module.moduleId)} [${module.project.name}]`;
      for (const test of module.children.allTests()) tests.push(describeTest(test, file));
      for (const error of module.errors()) errors.push({ file, message: message(error) });
      for (const suite of module.children.allSuites()) {
        for (const error of suite.errors())
          errors.push({ file: `${file} › ${suite.fullName}`, message: message(error) });
      }
    }
    mkdirSync('reports', { recursive: true });
    const path = process.env.KAPSTAN_TEST_REPORT ?? 'reports/vitest.json';
    writeFileSync(path, `${JSON.stringify({ reason, tests, errors }, null, 2)}\n`);
  }
}
