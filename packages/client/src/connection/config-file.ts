// Reads the files that a ClientConfig names. Used by transport/tls-material.ts and by the credentials.
import { readFile } from 'node:fs/promises';

/** Rejects with the system's error, which contains the path, prefixed with the member of the configuration that named it: "tls.caFile". */
export async function readConfigFile(path: string, member: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw Object.assign(new Error(`${member}: ${message}`, { cause }), { code, path });
  }
}
