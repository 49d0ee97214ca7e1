// client-go's informers beside ours, where KAPSTAN_BENCH_CLIENT_GO names the built program `peerperf` of the peers' measures. Used
// by sdk-client.mjs.
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

/** Names for measureClients; none without the program. */
export const clientGoLibraries = program === undefined ? [] : Object.keys(kinds);

/** One sync in a process of its own: the result of sdk-client-process.mjs. */
export async function measureClientGo(library, url) {
  const { mode, watchList } = kinds[library];
  const env = { ...process.env, KUBE_FEATURE_WatchListClient: String(watchList) };
  const { stdout } = await promisify(execFile)(program, ['informer', '--url', url, '--mode', mode], { env });
  const result = JSON.parse(stdout);
  return {
    cpuUsPerObject: result.cpu_us_per_object,
    peakRssMb: result.peak_rss_mb,
    heapMb: result.heap_after_gc_mb,
    outOfOrder: 0,
  };
}
