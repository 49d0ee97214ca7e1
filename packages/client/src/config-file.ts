// The files that a ClientConfig names. Read by transport/tls-material.ts and by the credentials of several sorts.
import { readFile } from 'node:fs/promises';

/** Rejects with the system's error, which tells the path, behind the member of the configuration that gave it: "tls.caFile". */
export async function readConfigFile(path: string, member: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw Object.assign(new Error(`${member}: ${message}`, { cause }), { code, path });
  }
}
