// Reads custom resource definitions from a file, a directory, a URL or a cluster.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '@kapstan/api';
import { connect } from '@kapstan/client';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { definitionsIn, type SourcedDefinition } from './definition-document.ts';
import type { JsonObject } from './json-object.ts';
import { shownSource } from './shown-source.ts';

/** Longest text that is read from one file or URL, in bytes. */
const maxBytes = 64 * 1024 * 1024;
const maxFiles = 10_000;
const answersWithinMs = 60_000;

/** Reads a file, all files of a directory that end in .yaml, .yml or .json, or a URL. Rejects when there is no definition in it. */
export async function readDefinitions(
  source: string,
  { clock = systemClock }: { readonly clock?: Clock } = {},
): Promise<readonly SourcedDefinition[]> {
  const found = /^https?:\/\//i.test(source)
    ? definitionsIn(await download(source, clock), shownSource(source))
    : await readPath(source);
  if (found.length === 0) throw new Error(`${shownSource(source)} has no CustomResourceDefinition`);
  return found;
}

/** Reads all definitions of a cluster, through a kubeconfig. "" = the usual one. */
export async function readDefinitionsOfCluster(kubeconfig: string): Promise<readonly SourcedDefinition[]> {
  await using client = await connect(kubeconfig === '' ? {} : { kubeconfig });
  const definitions = await client.list(CustomResourceDefinition);
  if (definitions.length === 0) throw new Error('the cluster has no CustomResourceDefinition');
  return [...definitions].map((definition) => ({
    definition: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      ...definition,
    } as unknown as JsonObject,
    place: `the cluster's ${definition.metadata?.name}`,
  }));
}

async function readPath(path: string): Promise<readonly SourcedDefinition[]> {
  const found: SourcedDefinition[] = [];
  for (const file of await filesIn(path)) {
    const { size } = await stat(file);
    if (size > maxBytes) throw new Error(`${file} has ${size} bytes; at most ${maxBytes} are read`);
    found.push(...definitionsIn(await readFile(file, 'utf8'), file));
  }
  return found;
}

async function filesIn(path: string): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile() && /\.(?:ya?ml|json)$/.test(entry.name));
  if (files.length > maxFiles) throw new Error(`${path} has ${files.length} files; at most ${maxFiles} are read`);
  return files.map((entry) => join(entry.parentPath, entry.name)).sort();
}

async function download(given: string, clock: Clock): Promise<string> {
  const url = shownSource(given);
  const { username = '', password = '' } = URL.canParse(given) ? new URL(given) : {};
  // fetch() refuses such a URL with an error that quotes all of it.
  if (`${username}${password}` !== '') throw new Error(`${url}: a user in a URL is not sent; download the file first`);
  const late = new AbortController();
  const cancel = clock.setTimer(
    () => late.abort(new Error(`${url} did not answer within ${answersWithinMs} ms`)),
    answersWithinMs,
  );
  try {
    const response = await fetch(given, { signal: late.signal });
    if (!response.ok) throw new Error(`${url} answered ${response.status} ${response.statusText}`);
    return await boundedText(response, url);
  } finally {
    cancel();
  }
}

async function boundedText(response: Response, url: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new Error(`${url} has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
