// Reads files of settings up to a maximum size. Used wherever a flag or an option names such a file.
import { open } from 'node:fs/promises';

/** Largest configuration file, in bytes. YAML of this size takes two seconds to parse. */
export const maxConfigurationBytes: number = 1024 * 1024;

/** Returns the text of a file. Rejects when it cannot be read, or is larger than `maxBytes`. */
export async function readLimitedFile(path: string, maxBytes: number): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > maxBytes) throw tooLarge(maxBytes);
    const bytes = await file.readFile();
    if (bytes.length > maxBytes) throw tooLarge(maxBytes);
    return bytes.toString('utf8');
  } finally {
    await file.close();
  }
}

function tooLarge(maxBytes: number): Error {
  return new Error(`the file is larger than ${maxBytes} bytes`);
}
