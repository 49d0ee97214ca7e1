// Writes refreshed OIDC tokens back to the kubeconfig they came from, as kubectl does; everything else in the file stays,
// comments too.
import { open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { isMap, isSeq, parseDocument, type YAMLMap } from 'yaml';
import type { OidcTokens } from '../credentials/oidc.ts';

export interface TokenPlace {
  readonly file: string;
  readonly user: string;
}

const writers = new Map<string, (tokens: OidcTokens) => Promise<void>>();

/** Of one place always the same function: configurations of one file are alike (connection-key.ts). */
export function tokenWriter(place: TokenPlace): (tokens: OidcTokens) => Promise<void> {
  const key = JSON.stringify([place.file, place.user]);
  const writer = writers.get(key) ?? ((tokens) => persistTokens(place, tokens));
  writers.set(key, writer);
  return writer;
}

/**
 * Rejects when the file cannot be written, has no such user any more, or is locked by somebody else: client-go's lock,
 * a file "<file>.lock" beside it.
 */
async function persistTokens({ file, user }: TokenPlace, tokens: OidcTokens): Promise<void> {
  const lock = `${file}.lock`;
  await (await open(lock, 'wx', 0o600)).close();
  try {
    // A link stays a link.
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
