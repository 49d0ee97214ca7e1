// Runs client-go's informers for comparison with ours when KAPSTAN_BENCH_CLIENT_GO names the built program `peerperf`.
// Used by sdk-client.mjs.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const program = process.env.KAPSTAN_BENCH_CLIENT_GO;

const kinds = {
  'client-go-typed-list': { mode: 'typed', watchList: false },
  'client-go-typed': { mode: 'typed', watchList: true },
  'client-go-dynamic-list': { mode: 'dynamic', watchList: false },
  'client-go-metadata-list': { mode: 'metadata', watchList: false },
  'client-go-metadata': { mode: 'metadata', watchList: true },
};

/** Names for measureClients; empty without the program. */
export const clientGoLibraries = program === undefined ? [] : Object.keys(kinds);

/**
 * Runs one sync of `objects` in its own process, including the first connection. Resolves to the same result as
 * sdk-client-process.mjs.
 */
export async function measureClientGo(library, url, objects) {
  const { mode, watchList } = kinds[library];
  const env = { ...process.env, KUBE_FEATURE_WatchListClient: String(watchList) };
  const { stdout } = await promisify(execFile)(program, ['informer', '--url', url, '--mode', mode], { env });
  const {
    n,
    adds,
    cpu_us_per_object: cpuUsPerObject,
    peak_rss_mb: peakRssMb,
    heap_after_gc_mb: heapMb,
  } = JSON.parse(stdout);
  if (n !== objects || adds !== objects) throw new Error(`${library} has ${n} objects and told ${adds} of ${objects}`);
  return { cpuUsPerObject, peakRssMb, heapMb };
}
