// Writes refreshed OIDC tokens back to their kubeconfig, as kubectl does; everything else in the file stays, including
// comments.
import { open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import type { OidcTokens } from '../credentials/oidc.ts';
import { isMap, isSeq, parseDocument, type YAMLMap } from './yaml.ts';

export interface TokenPlace {
  readonly file: string;
  readonly user: string;
}

const writers = new Map<string, (tokens: OidcTokens) => Promise<void>>();

/** Returns the same function for the same place, so that clients with one file can share connections (connection-key.ts). */
export function tokenWriter(place: TokenPlace): (tokens: OidcTokens) => Promise<void> {
  const key = JSON.stringify([place.file, place.user]);
  const writer = writers.get(key) ?? ((tokens) => persistTokens(place, tokens));
  writers.set(key, writer);
  return writer;
}

/**
 * Rejects when the file cannot be written, no longer has the user, or is locked by another process: client-go's lock is a file
 * "<file>.lock" next to it.
 */
async function persistTokens({ file, user }: TokenPlace, tokens: OidcTokens): Promise<void> {
  const lock = `${file}.lock`;
  await (await open(lock, 'wx', 0o600)).close();
  try {
    // Writes to the target of a symbolic link, so that the link stays.
    const path = await realpath(file);
    const { mode } = await stat(path);
    const text = withTokens(await readFile(path, 'utf8'), user, tokens);
    const fresh = `${path}.${process.pid}.tmp`;
    await writeFile(fresh, text, { mode });
    await rename(fresh, path);
  } finally {
    await rm(lock);
  }
}

function withTokens(text: string, user: string, { idToken, refreshToken }: OidcTokens): string {
  const document = parseDocument(text);
  const users = document.get('users');
  const entry = isSeq(users) ? users.items.find((item) => isMap(item) && item.get('name') === user) : undefined;
  const config = isMap(entry) ? entry.getIn(['user', 'auth-provider', 'config']) : undefined;
  if (!isMap(config)) throw new Error(`no user ${JSON.stringify(user)} with an auth-provider`);
  (config as YAMLMap).set('id-token', idToken);
  (config as YAMLMap).set('refresh-token', refreshToken);
  return document.toString({ lineWidth: 0 });
}
