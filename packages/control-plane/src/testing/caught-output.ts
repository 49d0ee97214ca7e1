// catchOutput captures the output of a command in a test. Used by the tests of the command.
import { type MockInstance, vi } from 'vitest';

/** Passes each text written to the stream to `onText`, until `vi.restoreAllMocks` or `mockRestore` of the result. */
export function catchOutput(stream: NodeJS.WriteStream, onText: (text: string) => void): MockInstance {
  return vi.spyOn(stream, 'write').mockImplementation((...args: unknown[]) => {
    onText(String(args[0]));
    const done = args.at(-1);
    if (typeof done === 'function') done();
    return true;
  });
}
