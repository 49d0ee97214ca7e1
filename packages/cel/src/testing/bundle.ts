// Bundles a program that imports this package, as a page would. Used by browser-bundle.test.ts and readme.test.ts.
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const entry = fileURLToPath(new URL('../program-under-test.ts', import.meta.url));

/**
 * Returns the script that a browser needs for a TypeScript program, which may import './index.ts'. The script loads
 * nothing else.
 */
export async function bundled(program: string, format: 'iife' | 'esm'): Promise<string> {
  const bundle = await rolldown({
    input: entry,
    platform: 'browser',
    resolve: { conditionNames: ['@kapstan/source', 'import', 'default'] },
    logLevel: 'silent',
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === entry ? entry : null),
        load: (id) => (id === entry ? program : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format });
  await bundle.close();
  return output[0].code;
}
