// Loads the kapstan command from its bundle, or else from the compiled modules. Called by bin/kapstan.js.
import { currentBundle, loadBundle } from './bundle.ts';

type Command = Pick<typeof import('./command.ts'), 'main'>;

export async function loadCommand(): Promise<Command> {
  const bundle = currentBundle(new URL('../', import.meta.url));
  return (
    ((bundle === undefined ? undefined : loadBundle(bundle)) as Command | undefined) ?? (await import('./command.ts'))
  );
}
