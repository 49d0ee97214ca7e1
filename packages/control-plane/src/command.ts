// The kapstan command: reads the arguments, runs one subcommand, answers the exit code. Called by bin/kapstan.js.
export async function main(_args: readonly string[]): Promise<number> {
  process.stderr.write('kapstan: no subcommand is built yet\n');
  return 1;
}
